import type { Field, Type } from 'protobufjs';
import { fieldTypeName, jsonFields } from '../../api/codec/json-fields.ts';
import { type FieldSupport, supportOf } from '../../api/kinds/field-support.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { below, type Place, tablePath } from './locate.ts';
import { computeRules } from './rules.ts';

/** What stands above messages and fields in the protos: by message, under "" what stands above the message itself. */
export type Comments = Readonly<Record<string, Readonly<Record<string, string>>>>;

const width = 110;

/** What a kind or one of its fields is, and which fields stand below it, in kubectl's form. Pure. */
export function explainPlace(place: Place, comments: Comments): string {
  const { kind, steps } = place;
  const type = below(place);
  const field = steps.at(-1);
  return [
    header(kind),
    ...(field === undefined ? [] : ['', ...fieldHead(place, field)]),
    '',
    'DESCRIPTION:',
    ...paragraphs(place, comments).flatMap((text) => wrap(text, '    ')),
    ...(type === undefined ? [] : ['', 'FIELDS:', ...fieldList(place, type, comments)]),
    '',
  ].join('\n');
}

/** All fields below a place, however deep, with their types. Pure. */
export function explainTree(place: Place): string {
  const type = below(place);
  const field = place.steps.at(-1);
  return [
    header(place.kind),
    ...(field === undefined ? [] : ['', ...fieldHead(place, field)]),
    '',
    'FIELDS:',
    ...(type === undefined ? [] : treeLines(place, type, '  ', [])),
    '',
  ].join('\n');
}

export function header(kind: Kind): string {
  const slash = kind.apiVersion.indexOf('/');
  const group = slash < 0 ? [] : [`GROUP:      ${kind.apiVersion.slice(0, slash)}`];
  return [...group, `KIND:       ${kind.kind}`, `VERSION:    ${kind.apiVersion.slice(slash + 1)}`].join('\n');
}

function fieldHead(place: Place, field: Field): string[] {
  const { values } = computeRules(place.kind, place.steps);
  const support = supportOf(place.kind.fields, tablePath(place.steps));
  return [
    `FIELD: ${heading(place, field)}`,
    ...(values.length === 0 ? [] : ['ENUM:', ...values.map((value) => `    ${value}`)]),
    `SUPPORT: ${supportText(support)}`,
  ];
}

/** "image <string> -required-". */
function heading({ kind, steps }: Place, field: Field): string {
  const required = computeRules(kind, steps).required ? ' -required-' : '';
  return `${field.name} <${fieldTypeName(field)}>${required}`;
}

function supportText(support: FieldSupport | 'partly'): string {
  if (support === 'partly') return 'partly; see its fields';
  if (support.support === 'works') return 'works';
  return support.support === 'warned' ? `accepted with a warning: ${support.why}` : `refused: ${support.why}`;
}

/** What stands above the field, and above the message that it holds. */
function paragraphs(place: Place, comments: Comments): string[] {
  const field = place.steps.at(-1);
  const type = below(place);
  const own = field === undefined ? '' : commentOf(field, comments);
  const message = type === undefined ? '' : (comments[type.fullName.slice(1)]?.[''] ?? '');
  return [own, message].filter(Boolean);
}

function commentOf(field: Field, comments: Comments): string {
  return comments[field.parent?.fullName.slice(1) ?? '']?.[field.name] ?? '';
}

function fieldList(place: Place, type: Type, comments: Comments): string[] {
  return inOrder(type).flatMap((field) => {
    const steps = [...place.steps, field];
    const support = supportOf(place.kind.fields, tablePath(steps));
    const mark = typeof support === 'object' && support.support === 'works' ? '' : ` (${supportMark(support)})`;
    const why = typeof support === 'object' && support.support !== 'works' ? wrap(supportText(support), '    ') : [];
    const { values } = computeRules(place.kind, steps);
    return [
      `  ${heading({ kind: place.kind, steps }, field)}${mark}`,
      ...(values.length === 0 ? [] : wrap(`one of ${values.join(', ')}`, '    ')),
      ...wrap(commentOf(field, comments), '    '),
      ...why,
      '',
    ];
  });
}

function supportMark(support: FieldSupport | 'partly'): string {
  return support === 'partly' ? 'partly supported' : support.support === 'works' ? 'works' : support.support;
}

/** `above` are the messages that the place stands in: one that holds itself is not opened again. */
function treeLines(place: Place, type: Type, indent: string, above: readonly Type[]): string[] {
  return inOrder(type).flatMap((field) => {
    const inner: Place = { kind: place.kind, steps: [...place.steps, field] };
    const support = supportOf(place.kind.fields, tablePath(inner.steps));
    const mark = typeof support === 'object' && support.support === 'works' ? '' : ` (${supportMark(support)})`;
    const inside = below(inner);
    const open = inside !== undefined && inside !== type && !above.includes(inside);
    // Whatever stands below a refused field is refused with it.
    const decided = typeof support === 'object' && support.support === 'refused';
    return [
      `${indent}${heading(inner, field)}${mark}`,
      ...(open && !decided ? treeLines(inner, inside, `${indent}  `, [...above, type]) : []),
    ];
  });
}

function inOrder(type: Type): Field[] {
  return jsonFields(type).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Words in lines of a bounded width. */
export function wrap(text: string, indent: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ').filter(Boolean)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(indent + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
