import { groupOf } from '../../../api/kinds/identity.ts';
import { groups, type Identity, known, serviceAccountUser } from '../../authn/identity.ts';
import type { ResourceQuestion, Rights } from '../../cel/functions/authorization.ts';
import type { AdmissionAttributes, RightsOfUsers } from '../dynamic.ts';

/** What the variable "authorizer" is made of. */
export interface RequestRights {
  readonly rights: Rights;
  /** What the request is about. */
  readonly requested: ResourceQuestion;
}

/** The rights of a request's user; undefined for a call without an authorizer, as in tests. */
export function requestRights({ call, kind, subresource, namespace, name }: AdmissionAttributes): RequestRights | undefined {
  const { authorizer, identity } = call;
  if (!authorizer) return undefined;
  const requested: ResourceQuestion = {
    ...{ group: groupOf(kind.apiVersion), resource: kind.plural, subresource, name },
    namespace: kind.namespaced ? namespace : '',
  };
  return { rights: rightsOf(authorizer, identity), requested };
}

function rightsOf(authorizer: RightsOfUsers, identity: Identity): Rights {
  return {
    user: identity.user,
    may: (verb, wanted) => authorizer.allows(identity, { verb, ...wanted }),
    mayPath: (verb, path) => authorizer.mayPath(identity, verb, path),
    of(namespace, name) {
      const own = [groups.serviceAccounts, `${groups.serviceAccounts}:${namespace}`];
      return rightsOf(authorizer, known({ user: serviceAccountUser(namespace, name), groups: own }));
    },
  };
}
