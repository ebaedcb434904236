import { badRequest } from '../../api/errors/index.ts';

/** The source or the destination of a copy: a path on this machine or in a pod. */
export type FileSpec =
  | { readonly place: 'local'; readonly path: string }
  | { readonly place: 'pod'; readonly namespace: string | undefined; readonly pod: string; readonly path: string };

/**
 * Reads "FILE", "POD:PATH" and "NAMESPACE/POD:PATH". A local path that contains a colon must begin with "./" or "/".
 * Throws INVALID_ARGUMENT.
 */
export function parseFileSpec(text: string): FileSpec {
  const colon = text.indexOf(':');
  if (colon < 0 || /^[./]/.test(text)) {
    if (text === '') throw badRequest('a path must not be empty');
    return { place: 'local', path: text };
  }
  const [first = '', second, ...more] = text.slice(0, colon).split('/');
  const path = text.slice(colon + 1);
  const [namespace, pod] = second === undefined ? [undefined, first] : [first, second];
  if (pod === '' || namespace === '' || more.length > 0) throw badRequest(`"${text}" is not [NAMESPACE/]POD:PATH`);
  if (path === '') throw badRequest(`"${text}" names no path: write ${text}/PATH`);
  return { place: 'pod', namespace, pod, path };
}
