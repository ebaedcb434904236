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
const impersonation: readonly string[] = [IMPERSONATE_USER, IMPERSONATE_GROUP];
const MAX_GROUPS = 64;

/**
 * The identity that a call acts as: the caller, or another user in other groups, when the caller is allowed the verb
 * "impersonate" on each of them. A service account must exist. The rights of the caller do not count then, but the call
 * counts against its limits (`OpenCall.flow`). Throws PERMISSION_DENIED.
 */
export function impersonated(
  call: Pick<TransportCall, 'header' | 'headerNames'>,
  caller: Identity,
  authorizer: Authorizer,
): Identity {
  const [user, another] = read(call, IMPERSONATE_USER);
  const wanted = read(call, IMPERSONATE_GROUP);
  if (user === undefined && wanted.length === 0) return caller;
  if (!user) throw badRequest(`impersonating groups needs a user as well: send "${IMPERSONATE_USER}"`);
  if (another !== undefined) throw badRequest(`"${IMPERSONATE_USER}" names more than one user`);
  // Their sender counts on fewer rights than the user has.
  const unknown = call.headerNames().find((key) => key.startsWith('impersonate-') && !impersonation.includes(key));
  if (unknown !== undefined)
    throw badRequest(`"${unknown}" cannot be impersonated: only "${IMPERSONATE_USER}" and "${IMPERSONATE_GROUP}"`);
  if (wanted.length > MAX_GROUPS)
    throw badRequest(`${wanted.length} groups are more than the ${MAX_GROUPS} that can be impersonated`);
  const ask = (kind: string, name: string, namespace = ''): void =>
    authorizer.authorize(caller, { verb: 'impersonate', kind, namespace, name });
  const account = serviceAccountOf(user);
  if (account) ask('ServiceAccount', account.name, account.namespace);
  else ask('User', user);
  // Every caller is in this group.
  for (const group of wanted) if (group !== groups.authenticated) ask('Group', group);
  if (account && !authorizer.hasAccount(account))
    throw permissionDenied(
      `cannot impersonate user "${user}": there is no service account ${account.namespace}/${account.name}; ` +
        `make it with "berth create serviceaccount ${account.name} -n ${account.namespace}"`,
    );
  const own = account ? [groups.serviceAccounts, `${groups.serviceAccounts}:${account.namespace}`] : [];
  return known({ user, groups: [...new Set([...wanted, ...own])] });
}

function read(call: Pick<TransportCall, 'header'>, key: string): string[] {
  const values = call.header(key);
  if (values.length === 0) return [];
  try {
    return values.flatMap((value) => value.split(',')).map((text) => decodeURIComponent(text.trim()));
  } catch {
    throw badRequest(`"${key}" must be percent-encoded`);
  }
}
