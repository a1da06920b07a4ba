// The conclusions of runs that answer a question: which engines qualify, in which order.

/** Draws the conclusions, without the authors' own engine if the page hides it. */
function drawAdvice({ hidesOwn }) {
  byId("advice").replaceChildren(
    ...DATA.advice.map((sheet, at) => conclusion(hidesOwn ? sheet.without_own : sheet.whole, at)),
  );
}

function conclusion({ question, heads, rows, sentences, facts, out }, at) {
  const [title, ...asked] = question;
  const id = `advice-${at}`;
  const list = (lines) => el("ul", {}, ...lines.map((line) => el("li", {}, name(line))));
  return el(
    "section",
    { class: "advice", "aria-labelledby": id },
    el("h2", { id }, name(title)),
    el("p", { class: "facts" }, name(asked.join(" · "))),
    rows.length
      ? plainTable(title, heads, rows, 2)
      : el("p", { class: "note" }, "No engine qualifies."),
    ...(rows.length ? sentences : []).map((line) => el("p", { class: "note" }, name(line))),
    out.length ? el("h3", {}, "Do not qualify") : "",
    out.length ? list(out) : "",
    facts.length ? el("details", {}, el("summary", {}, "versions, licences, languages"), list(facts.map((parts) => parts.join(" · ")))) : "",
  );
}
