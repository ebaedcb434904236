import { toJson } from '../../api/codec/json.ts';
import { parseManifests } from '../../api/codec/yaml.ts';
import { kinds } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject, ObjectKey } from '../../client/index.ts';
import { knownKinds } from '../args/other-kinds.ts';

const instructions = [
  'Edit the object below. Lines that begin with "#" are ignored, and an empty file cancels the edit.',
  'If the object cannot be saved, this file opens again with the reasons.',
  '',
];

/** One thing that is wrong with what the person wrote, as a line of the file. */
export interface EditProblem {
  readonly line: number;
  readonly text: string;
}

/** The file that the person gets: what to do, what was wrong last time, and the object. */
export function composeText(body: string, problems: readonly EditProblem[] = [], linesBefore = 0): string {
  const height = instructions.length + (problems.length > 0 ? problems.length + 2 : 0);
  const wrong = problems.map(({ line, text }) => `* line ${line - linesBefore + height}: ${text}`);
  const header = [...instructions, ...(wrong.length > 0 ? ['The object was not saved:', ...wrong, ''] : [])];
  return `${header.map((line) => `# ${line}`.trimEnd()).join('\n')}\n${body}`;
}

/** What stands below the comments at the top, and how many lines those have. */
export function splitText(text: string): { readonly body: string; readonly linesBefore: number } {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => !line.startsWith('#'));
  const linesBefore = first < 0 ? lines.length : first;
  return { body: lines.slice(linesBefore).join('\n'), linesBefore };
}

export type EditedText =
  | { readonly object: JsonObject; readonly locate: (field: string) => number }
  | { readonly problems: readonly EditProblem[] };

/** Reads what the person wrote: the same object, changed. */
export function readEdited(text: string, kind: Kind, key: ObjectKey): EditedText {
  const [document, more] = parseManifests(text, 'edit', knownKinds().includes(kind) ? knownKinds() : [...kinds, kind]);
  const wrong = (line: number, why: string): EditedText => ({ problems: [{ line, text: why }] });
  if (document === undefined) return wrong(1, 'there is no object');
  if ('problems' in document)
    return {
      problems: document.problems.map(({ line, path, reason }) => ({ line, text: path ? `${path}: ${reason}` : reason })),
    };
  if (more !== undefined)
    return wrong('problems' in more ? (more.problems[0]?.line ?? 1) : more.line, 'there is more than one object');
  const { metadata = {} } = document.object;
  const locate = (field: string): number => document.locate(field).line;
  if (document.kind !== kind) return wrong(locate('kind'), `kind: must stay ${kind.kind}`);
  if (metadata.name !== key.name) return wrong(locate('metadata.name'), `metadata.name: must stay ${key.name}`);
  if ((metadata.namespace ?? '') !== (key.namespace ?? ''))
    return wrong(locate('metadata.namespace'), `metadata.namespace: must stay ${key.namespace ?? 'empty'}`);
  return { object: toJson(kind, document.object), locate };
}
