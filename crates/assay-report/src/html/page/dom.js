"use strict";
// Elements. Texts of run files become text nodes and attributes only, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  const isThere = (child) => child !== undefined && child !== null && child !== false;
  element.append(...children.flat().filter(isThere));
  return element;
}

/** An HTML element; attributes that begin with `on` are listeners. */
const el = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** An SVG element. */
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** A text of a run file: it turns the direction of nothing around it. */
const name = (text, attributes = {}) => el("bdi", { title: text, ...attributes }, text);

const byId = (id) => document.getElementById(id);
