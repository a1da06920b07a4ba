//! The order in which a killed process lost writes of earlier phases: a thread's write that is
//! there has none before it that is lost, and neither has any of a later phase.

use assay_driver::error::Result;

use super::check::wrong;
use super::clients::replay;
use super::model::{Model, State};
use super::spec::Spec;
use super::{Left, phase_of};

/// The fate of the writes before a phase.
pub(super) struct Losses<'f> {
    /// The records before the phase.
    pub(super) before: &'f Model,
    /// The version of each record that is there now; none of one that is absent.
    pub(super) found: &'f [Option<u32>],
}

impl Losses<'_> {
    /// Returns true if a write that left a record in a state is there, false if it is lost; none
    /// if that cannot be told, for an absent record may never have been there.
    fn is_there(&self, row: u64, after: State) -> Option<bool> {
        match self.found[row as usize] {
            Some(version) => Some(version >= after.version()),
            None if after.is_there() && self.before.state(row) == after => Some(false),
            None => None,
        }
    }

    /// Checks that a cell whose phases these are lost its last writes alone; `seed` is its own.
    pub(super) fn check(&self, spec: &Spec, seed: u64, left: &Left) -> Result<()> {
        // Writes that another kill lost, and later ones, have the same versions.
        let was_killed = left.phases.iter().rposition(|carried| !carried.put_back.is_empty());
        let first = was_killed.map_or(0, |killed| killed + 1);
        let mut model = Model::loaded(spec.records.count);
        let loaded = 0..spec.records.count;
        let mut lost = loaded
            .filter(|_| first == 0)
            .find(|row| self.is_there(*row, State::LOADED) == Some(false));
        for (nth, carried) in left.phases.iter().enumerate() {
            let phase = phase_of(spec, carried.phase)?;
            if nth < first {
                model = carried.replayed(phase, seed, model);
                continue;
            }
            let lanes = carried.windows.first().map_or(0, Vec::len);
            let mut lost_by = vec![lost; lanes];
            let mut fault = None;
            model = replay(phase, seed, model, &carried.windows, &mut |thread, operation| {
                let Some(after) = operation.after else { return };
                match (self.is_there(operation.row, after), lost_by[thread]) {
                    (Some(false), None) => lost_by[thread] = Some(operation.row),
                    (Some(true), Some(lost)) if fault.is_none() => {
                        fault = Some((operation.row, after.version(), lost));
                    }
                    _ => {}
                }
            });
            if let Some((row, version, lost)) = fault {
                let what = format!(
                    "version {version}, of an earlier phase, is there, and a write before it, of \
                     record {lost}, is lost"
                );
                return Err(wrong(row, &what));
            }
            lost = lost_by.into_iter().flatten().next().or(lost);
        }
        Ok(())
    }
}
