//! Tests of slots, without a file.

use super::*;

#[test]
fn a_slot_is_taken_once_and_comes_back_after_the_checkpoint_only() {
    let mut slots = Slots::default();
    slots.extend(200);
    let is_free = |slot: &u32| ![8, 9].contains(slot);
    let free: Vec<_> = (2..200).filter(is_free).map(SlotNumber).collect();
    let mut taken: Vec<_> = free.iter().map(|_| slots.take().expect("one is free")).collect();
    taken.sort_unstable();
    assert_eq!(taken, free);
    assert!(slots.take().is_err());
    slots.begin_to_need();
    slots.release(SlotNumber(70));
    assert!(slots.take().is_err());
    let mut bitmap = Vec::new();
    slots.write_bitmap(&mut bitmap);
    let mut restored = Slots::restore(&bitmap, 200).expect("it fits");
    assert_eq!(restored.take().ok(), Some(SlotNumber(70)));
    slots.settle();
    assert_eq!(slots.take().ok(), Some(SlotNumber(70)));
    assert!(slots.take().is_err());
    slots.release(SlotNumber(199));
    slots.settle();
    assert_eq!(slots.last_used(), 199);
    slots.truncate(199);
    assert!(slots.take().is_err());
    assert!(Slots::restore(&bitmap, 300).is_err());
    assert!(Slots::restore(&[0; 8], 10).is_err());
}

/// A page map whose checksums are right may name any slot, and so may the bits of used ones.
#[test]
fn a_forged_file_frees_no_superblock_and_uses_no_slot_beyond_its_end() {
    let mut slots = Slots::default();
    for slot in [1, 8, 9, FIRST_END, u32::MAX] {
        slots.release(SlotNumber(slot));
    }
    slots.settle();
    while let Ok(slot) = slots.take() {
        assert!(!has_superblock(slot), "slot {slot} has a superblock");
    }
    let forged = SUPERBLOCK_BITS | 1 << 40;
    assert!(Slots::restore(&forged.to_le_bytes(), 41).is_ok());
    assert!(Slots::restore(&forged.to_le_bytes(), 40).is_err());
}

#[test]
fn slots_in_holes_are_not_taken_until_they_have_space() {
    let mut slots = Slots::default();
    slots.extend(200);
    let take = |slots: &mut Slots| slots.take().map(|SlotNumber(slot)| slot);
    (0..190).for_each(|_| assert!(take(&mut slots).is_ok()));
    // 2 to 7, 10 to 193 are used; 194 to 199 are free.
    [20, 21, 22, 130].into_iter().for_each(|slot| slots.give_back(SlotNumber(slot)));
    assert_eq!((slots.free(), slots.used(), slots.free_before(22)), (10, 190, 2));
    assert_eq!(slots.free_runs(0..200, 4), [20..23, 130..131, 194..198, 198..200]);
    assert!(slots.are_free(&(195..200)) && !slots.are_free(&(195..201)));
    assert!(!slots.are_free(&(130..132)));
    slots.begin_holes(20..22);
    slots.begin_holes(196..200);
    assert_eq!((slots.free(), slots.used(), slots.hole_count), (4, 190, 6));
    assert_eq!(slots.free_runs(0..200, 9), [22..23, 130..131, 194..196]);
    assert!(!slots.are_free(&(195..197)));
    let mut taken: Vec<_> = (0..4).filter_map(|_| take(&mut slots).ok()).collect();
    taken.sort_unstable();
    assert_eq!(taken, [22, 130, 194, 195]);
    assert!(take(&mut slots).is_err());
    assert_eq!(slots.first_holes(1), Some(20..21));
    assert_eq!(slots.first_holes(9), Some(20..22));
    slots.end_holes(20..21);
    assert_eq!(take(&mut slots).ok(), Some(20));
    // On the disk they are not used.
    let mut bitmap = Vec::new();
    slots.write_bitmap(&mut bitmap);
    let mut restored = Slots::restore(&bitmap, 200).expect("it fits");
    assert_eq!((restored.free(), restored.hole_count), (5, 0));
    restored.forget_space();
    assert_eq!((restored.free(), restored.hole_count), (0, 5));
    assert!(take(&mut restored).is_err());
    slots.truncate(198);
    assert_eq!((slots.free(), slots.used(), slots.hole_count), (0, 195, 3));
    slots.extend(200);
    assert_eq!((slots.free(), slots.hole_count), (2, 3), "what is new has space");
    assert_eq!(slots.free_runs(0..200, 9).last(), Some(&(198..200)));
}

#[test]
fn slots_of_a_kept_checkpoint_are_free_when_it_is_let_go() {
    let mut slots = Slots::default();
    slots.extend(100);
    let first = slots.take().expect("one is free");
    slots.begin_to_need();
    slots.settle();
    slots.keep();
    let free = slots.free();
    for round in 0..3 {
        slots.set_being_written(true);
        let second = slots.take().expect("one is free");
        if round == 0 {
            slots.release(first);
        }
        // It is not free after the checkpoint.
        assert_eq!(slots.free_for_next(), slots.free());
        slots.release(second);
        let mut bitmap = Vec::new();
        slots.write_bitmap(&mut bitmap);
        assert_eq!(Slots::restore(&bitmap, 100).map(|slots| slots.free()).ok(), Some(96));
        slots.begin_to_need();
        slots.settle();
        slots.set_being_written(false);
        assert_eq!((slots.only_kept(), slots.free()), (1, free));
    }
    assert_eq!(slots.check(&[]), Ok(()));
    slots.let_go();
    assert_eq!((slots.only_kept(), slots.free()), (0, free + 1));
    assert_eq!(slots.check(&[]), Ok(()));
}

#[test]
fn a_slot_that_no_superblock_names_is_free_at_once() {
    let mut slots = Slots::default();
    slots.extend(100);
    let take = |slots: &mut Slots| slots.take().expect("one is free");
    let first = take(&mut slots);
    let free = slots.free();
    slots.release(first);
    assert_eq!((slots.released(), slots.free()), (0, free + 1));
    let needed = take(&mut slots);
    let free = slots.free();
    // Whatever comes of the superblock.
    slots.begin_to_need();
    slots.release(needed);
    let new = take(&mut slots);
    slots.release(new);
    assert_eq!((slots.released(), slots.free()), (1, free));
    slots.settle();
    assert_eq!((slots.released(), slots.free()), (0, free + 1));
    // A slot is not needed any more when it is taken again.
    let again: Vec<_> = (0..slots.free()).map(|_| take(&mut slots)).collect();
    again.iter().for_each(|slot| slots.release(*slot));
    assert_eq!((slots.released(), slots.free()), (0, free + 1));
}

#[test]
fn slots_of_pinned_checkpoints_are_free_when_no_reader_shows_them() {
    let mut slots = Slots::default();
    slots.extend(100);
    let free = slots.free();
    // A checkpoint that has one slot, and none of the one before.
    let publish = |slots: &mut Slots, before: SlotNumber, pinned: &[u64]| {
        let taken = slots.take().expect("one is free");
        slots.release(before);
        slots.begin_to_need();
        slots.keep_for_readers(pinned);
        slots.settle();
        taken
    };
    let first = publish(&mut slots, SlotNumber::NONE, &[]);
    let second = publish(&mut slots, first, &[1]);
    assert_eq!((slots.only_for_readers(), slots.free()), (1, free - 2));
    // The second one has no reader.
    let third = publish(&mut slots, second, &[1]);
    assert_eq!((slots.only_for_readers(), slots.free()), (1, free - 2));
    let fourth = publish(&mut slots, third, &[1, 3]);
    assert_eq!((slots.of_readers(), slots.only_for_readers()), (Some([1, 3]), 2));
    assert_eq!(slots.check(&[fourth]), Ok(()));
    // A backup keeps none of theirs.
    slots.keep();
    slots.let_readers_go(2);
    assert_eq!((slots.of_readers(), slots.only_for_readers()), (Some([3, 3]), 1));
    slots.let_other_readers_go(&[]);
    assert_eq!((slots.of_readers(), slots.only_kept(), slots.free()), (None, 0, free - 1));
    slots.let_go();
    assert_eq!(slots.free(), free - 1);
}
