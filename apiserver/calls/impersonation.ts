import { badRequest, permissionDenied } from '../../api/errors/index.ts';
import { groups, type Identity, known, serviceAccountOf } from '../authn/identity.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { TransportCall } from './transport-call.ts';

/**
 * The metadata by which a caller impersonates another user for one call; values are percent-encoded, and may arrive
 * joined by commas.
 */
export const IMPERSONATE_USER = 'impersonate-user';
export const IMPERSONATE_GROUP = 'impersonate-group';
export const IMPERSONATE_UID = 'impersonate-uid';
/** Behind it stands the key, percent-encoded where it has characters that the name of a header may not have. */
export const IMPERSONATE_EXTRA = 'impersonate-extra-';
const impersonation: readonly string[] = [IMPERSONATE_USER, IMPERSONATE_GROUP, IMPERSONATE_UID];
const MAX_GROUPS = 64;
/** Texts of all keys together. */
const MAX_EXTRA = 64;

/**
 * The identity that a call acts as: the caller, or another user in other groups, with a uid and further texts, when the
 * caller is allowed the verb "impersonate" on each of them. A service account must exist. The rights of the caller do
 * not count then, but the call counts against its limits (`OpenCall.flow`). Throws PERMISSION_DENIED.
 */
export function impersonated(call: Impersonating, caller: Identity, authorizer: Authorizer): Identity {
  const named = call.headerNames().filter((key) => key.startsWith('impersonate-'));
  if (named.length === 0) return caller;
  const [user, another] = read(call, IMPERSONATE_USER);
  const wanted = read(call, IMPERSONATE_GROUP);
  const [uid = '', anotherUid] = read(call, IMPERSONATE_UID);
  const extra = extraOf(call, named);
  if (!user) throw badRequest(`impersonating groups, a uid or more needs a user as well: send "${IMPERSONATE_USER}"`);
  if (another !== undefined) throw badRequest(`"${IMPERSONATE_USER}" names more than one user`);
  if (anotherUid !== undefined) throw badRequest(`"${IMPERSONATE_UID}" names more than one uid`);
  // Their sender counts on fewer rights than the user has.
  const unknown = named.find((key) => !impersonation.includes(key) && !key.startsWith(IMPERSONATE_EXTRA));
  if (unknown !== undefined)
    throw badRequest(`"${unknown}" cannot be impersonated: only ${impersonation.join(', ')} and ${IMPERSONATE_EXTRA}KEY`);
  if (wanted.length > MAX_GROUPS)
    throw badRequest(`${wanted.length} groups are more than the ${MAX_GROUPS} that can be impersonated`);
  const ask = (kind: string, name: string, namespace = '', key = ''): void =>
    authorizer.authorize(caller, { verb: key === '' ? 'impersonate' : `impersonate-${key}`, kind, namespace, name });
  const account = serviceAccountOf(user);
  if (account) ask('ServiceAccount', account.name, account.namespace);
  else ask('User', user);
  // Every caller is in this group.
  for (const group of wanted) if (group !== groups.authenticated) ask('Group', group);
  if (uid !== '') ask('Uid', uid);
  for (const [key, texts] of extra) for (const text of texts) ask('UserExtra', text, '', key);
  if (account && !authorizer.hasAccount(account))
    throw permissionDenied(
      `cannot impersonate user "${user}": there is no service account ${account.namespace}/${account.name}; ` +
        `make it with "berth create serviceaccount ${account.name} -n ${account.namespace}"`,
    );
  const own = account ? [groups.serviceAccounts, `${groups.serviceAccounts}:${account.namespace}`] : [];
  return known({
    user,
    groups: [...new Set([...wanted, ...own])],
    ...(uid !== '' && { uid }),
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  });
}

type Impersonating = Pick<TransportCall, 'header' | 'headerNames'>;

/** The keys in the names of headers, and their texts. */
function extraOf(call: Impersonating, named: readonly string[]): [key: string, texts: string[]][] {
  const found = named.flatMap((name): [string, string[]][] =>
    name.startsWith(IMPERSONATE_EXTRA) ? [[decoded(name, name.slice(IMPERSONATE_EXTRA.length)), read(call, name)]] : [],
  );
  if (found.some(([key]) => key === '')) throw badRequest(`"${IMPERSONATE_EXTRA}" names no key`);
  const count = found.reduce((sum, [, texts]) => sum + texts.length, 0);
  if (count > MAX_EXTRA) throw badRequest(`${count} texts are more than the ${MAX_EXTRA} that can be impersonated`);
  return found;
}

function decoded(header: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`"${header}" must be percent-encoded`);
  }
}

function read(call: Impersonating, key: string): string[] {
  const values = call.header(key);
  if (values.length === 0) return [];
  return values.flatMap((value) => value.split(',')).map((text) => decoded(key, text.trim()));
}
