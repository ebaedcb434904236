import { type DocumentProblem, parseDocuments, readDocument } from './yaml-document.ts';
import { type Place, stepsOf } from './yaml-lines.ts';

/** A file of settings: one document, YAML or JSON. */
export type SettingsDocument =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** Where a field stands, by its path ("profiles[0].plugins"); the deepest part of it that is there. */
      place(field: string): Place;
    }
  | { readonly kind: 'unreadable'; readonly problems: readonly DocumentProblem[] };

/** Never throws. */
export function parseSettings(text: string): SettingsDocument {
  const documents = parseDocuments(text).map((parsed) => ({ parsed, read: readDocument(parsed) }));
  // What stands before the first --- or behind the last one, comments say, is no document.
  const [only, second] = documents.filter(({ read }) => read.kind === 'unreadable' || (read.value ?? undefined) !== undefined);
  if (!only) return unreadable({ line: 1, column: 1 }, 'the file is empty');
  if (second) return unreadable(second.parsed.lines.placeOf([]), 'a second document begins here; settings are one document');
  if (only.read.kind === 'unreadable') return only.read;
  const { lines } = only.parsed;
  return { kind: 'value', value: only.read.value, place: (field) => lines.placeOf(stepsOf(field)) };
}

function unreadable(place: Place, reason: string): SettingsDocument {
  return { kind: 'unreadable', problems: [{ place, path: '', reason }] };
}
