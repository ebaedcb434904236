import { annotations as wellKnown } from '../../api/meta/well-known.ts';
import type { Describer } from './describer.ts';
import { type Tree, tree } from './json.ts';
import type { Lines } from './lines.ts';
import { writeLabels, writeName } from './sections.ts';

/** Everything that the object has, field by field: for kinds that have no description of their own. */
export const describeGeneric: Describer = async (object) => (lines) => {
  writeName(object, lines);
  writeLabels(object, lines);
  const { apiVersion, kind, metadata: _, ...rest } = object;
  lines.field('API Version', String(apiVersion ?? ''));
  lines.field('Kind', String(kind ?? ''));
  const { name, namespace, labels, annotations, managedFields, ...metadata } = tree(object, 'metadata');
  writeTree({ metadata, ...rest }, lines);
};

/** A tree of values with a label for each name; annotations that only programs read are left out. */
export function writeTree(values: Tree, lines: Lines): void {
  for (const [name, value] of Object.entries(values)) if (name !== wellKnown.lastApplied) writeValue(labelOf(name), value, lines);
}

function writeValue(label: string, value: unknown, lines: Lines): void {
  if (Array.isArray(value)) writeList(label, value, lines);
  else if (isTree(value)) lines.section(label, (inner) => writeTree(value, inner));
  else lines.field(label, String(value));
}

function writeList(label: string, values: readonly unknown[], lines: Lines): void {
  if (!values.some((each) => isTree(each) || Array.isArray(each))) lines.field(label, values.map(String));
  else
    lines.section(label, (inner) => {
      for (const each of values) isTree(each) ? writeTree(each, inner) : writeValue('-', each, inner);
    });
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const acronyms = new Set(['API', 'CIDR', 'CPU', 'DNS', 'ID', 'IP', 'IPC', 'OS', 'PID', 'TTY', 'UID', 'URL', 'UUID']);

/**
 * "leaseDurationSeconds" is "Lease Duration Seconds", "machineID" is "Machine ID";
 * what is no field's name stays as it is.
 */
export function labelOf(name: string): string {
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) return name;
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+/g) ?? [name];
  return words.map((word) => (acronyms.has(word.toUpperCase()) ? word.toUpperCase() : capital(word))).join(' ');
}

export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
