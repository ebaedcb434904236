import { permissionDenied } from '../../api/errors/index.ts';
import type { Identity } from '../authn/identity.ts';

/** The headers in which extension servers are told who calls, by Kubernetes' names. */
export const remoteHeaders = {
  user: 'X-Remote-User',
  uid: 'X-Remote-Uid',
  group: 'X-Remote-Group',
  extraPrefix: 'X-Remote-Extra-',
} as const;

/** What no header can hold. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const unsendable = /[\x00-\x08\x0a-\x1f\x7f]/;

/** Who calls, as headers. Throws PERMISSION_DENIED for a name that no header can hold. */
export function remoteUserHeaders({ user, uid, groups, extra = {} }: Identity): Record<string, string | string[]> {
  const entries = Object.entries(extra).map(
    ([key, values]) => [remoteHeaders.extraPrefix + keyOf(key), values.map(headerText)] as const,
  );
  return {
    [remoteHeaders.user]: headerText(user),
    ...(uid !== undefined && { [remoteHeaders.uid]: headerText(uid) }),
    ...(groups.length > 0 && { [remoteHeaders.group]: groups.map(headerText) }),
    ...Object.fromEntries(entries),
  };
}

/** UTF-8, as Kubernetes sends it: a header of Node's is bytes. */
function headerText(text: string): string {
  if (unsendable.test(text)) throw permissionDenied('the name of the caller cannot be passed to an extension server in a header');
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** As Kubernetes escapes what the name of a header cannot hold. */
const keyOf = (key: string): string =>
  [...Buffer.from(key.toLowerCase(), 'utf8')]
    .map((byte) => (/[!#$&'*+.^_`|~0-9a-z-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : escaped(byte)))
    .join('');

const escaped = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
