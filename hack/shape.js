// What hack/verify-shape measures: the length of functions, cycles of imports (type imports included), and the width of
// comments.
import { posix } from 'node:path';
import ts from 'typescript';

/** A function has at most so many lines, its nested functions included. */
export const functionLimit = 70;
/** A line that is only a comment has at most so many characters. */
export const commentLimit = 120;

function parse(name, text) {
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
}

/** What a function is called: its own name, or that of what it is assigned to. */
function functionName(node) {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  for (let at = node; at && !ts.isBlock(at) && !ts.isSourceFile(at); at = at.parent) {
    if (at.name && 'text' in at.name) return at.name.text;
  }
  return 'anonymous';
}

/** The functions of a file that are longer than the limit: { name, line, lines }. */
export function longFunctions(fileName, text, limit = functionLimit) {
  if (text.split('\n').length <= limit) return [];
  const source = parse(fileName, text);
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const line = lineOf(node.getStart(source));
      const lines = lineOf(node.end) - line + 1;
      if (lines > limit) found.push({ name: functionName(node), line, lines });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/**
 * The lines that are only a comment and too wide, by number from 1. A line of one word (an address) cannot be wrapped,
 * and a line within a template literal is no comment.
 */
export function wideComments(fileName, text, limit = commentLimit) {
  const wide = text.split('\n').flatMap((line, at) => {
    if (line.length <= limit) return [];
    const comment = /^\s*(?:\/\/|\/\*\*?|\*(?=\s))\s*(.*)$/.exec(line);
    return comment?.[1].includes(' ') ? [at] : [];
  });
  if (wide.length === 0) return [];
  const source = parse(fileName, text);
  const starts = source.getLineStarts();
  const templates = [];
  const visit = (node) => {
    if (ts.isTemplateLiteralToken(node)) templates.push([node.getStart(source), node.end]);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return wide.filter((at) => !templates.some(([from, to]) => from < starts[at] && starts[at] < to)).map((at) => at + 1);
}

/** The lines with a `private` member of a class, by number from 1. A constructor has no other form. */
export function privateMembers(fileName, text) {
  if (!/^\s+private /m.test(text)) return [];
  const source = parse(fileName, text);
  const found = [];
  const visit = (node) => {
    const isPrivate = ts.isClassElement(node) && node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
    if (isPrivate && !ts.isConstructorDeclaration(node))
      found.push(source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/**
 * The sets of modules that import each other, directly or through others, type imports included: for each, its modules,
 * sorted. `files` is a Map of name to text.
 */
export function importCycles(files) {
  const imports = new Map();
  for (const [name, text] of files) {
    const targets = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
    const local = targets.filter((target) => target.startsWith('.'));
    imports.set(
      name,
      local.map((target) => posix.join(posix.dirname(name), target)).filter((target) => files.has(target)),
    );
  }
  return stronglyConnected(imports)
    .map((modules) => modules.sort())
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Tarjan's algorithm: the sets of more than one node in which each reaches each. */
function stronglyConnected(edges) {
  const order = new Map();
  const lowest = new Map();
  const stack = [];
  const found = [];
  const visit = (node) => {
    order.set(node, order.size);
    lowest.set(node, order.get(node));
    stack.push(node);
    for (const next of edges.get(node)) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(node, Math.min(lowest.get(node), lowest.get(next)));
    }
    if (lowest.get(node) !== order.get(node)) return;
    const knot = stack.splice(stack.indexOf(node));
    if (knot.length > 1) found.push(knot);
  };
  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  return found;
}
