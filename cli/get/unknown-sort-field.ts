import { asApiError, badRequest } from '../../api/errors/index.ts';
import type { Path } from '../../api/jsonpath/parse.ts';
import { locate } from '../explain/locate.ts';

/**
 * The error for a field of `--sort-by` that no object has; undefined when one of the kinds knows it: the order by a
 * time that no pod has reached yet is no mistake.
 */
export function unknownField(path: Path, text: string, kinds: readonly string[]): Error | undefined {
  const names = fieldNames(path);
  const reasons = names && kinds.map((kind) => whyUnknown(kind, names));
  if (reasons?.includes('known')) return undefined;
  const inner = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1] ?? text;
  const missing = `couldn't find any field with path "{${inner.trim().replace(/^(?![.$@[])/, '.')}}" in the list of objects`;
  const [reason] = reasons ?? [];
  return badRequest(kinds.length === 1 && reason instanceof Error ? `${missing}: ${asApiError(reason)?.message}` : missing);
}

/** Keys of maps, such as labels, are known to no kind. */
function whyUnknown(kind: string, names: readonly string[]): Error | 'a key of a map' | 'known' {
  for (let count = 1; count < names.length; count++) {
    const place = tryLocate([kind, ...names.slice(0, count)].join('.'));
    if (place instanceof Error) return place;
    if (place.steps.at(-1)?.map) return 'a key of a map';
  }
  const last = tryLocate([kind, ...names].join('.'));
  return last instanceof Error ? last : 'known';
}

function tryLocate(path: string): ReturnType<typeof locate> | Error {
  try {
    return locate(path);
  } catch (error) {
    return error as Error;
  }
}

/** The names of a path that has nothing but names and places in lists; otherwise undefined. */
function fieldNames({ steps }: Path): string[] | undefined {
  if (steps.some(({ type }) => type !== 'key' && type !== 'slice' && type !== 'everything')) return undefined;
  return steps.flatMap((step) => (step.type === 'key' ? [step.name] : []));
}
