import { ApiError, badRequest, type FieldViolation, invalid } from '../../api/errors/index.ts';
import { invalidValue } from '../../api/errors/violations.ts';
import type {
  LocalSubjectAccessReview,
  PolicyRule,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SelfSubjectReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  TokenReview,
  UserInfo,
} from '../../api/generated/types.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { parseFieldSelector } from '../../api/meta/fields.ts';
import { parseLabelSelector } from '../../api/meta/labels.ts';
import { checkSelectorTerms } from '../../api/meta/selector-bounds.ts';
import { type AccountTokens, TOKEN_ISSUER } from '../authn/accounts/account-tokens.ts';
import { type Identity, isMaster, isNode, known } from '../authn/identity.ts';
import type { TokenTable } from '../authn/tokens.ts';
import type { Attributes } from '../authz/attributes.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { CallContext } from './call-context.ts';

/** Looks up the tokens of TokenReviews. */
export interface ReviewTokens {
  /** Absent where there are no service accounts. */
  readonly accounts: Pick<AccountTokens, 'review'> | undefined;
  readonly all: TokenTable;
}

/** Kubernetes' questions of access and identity, by kind. */
export interface Reviews {
  readonly SelfSubjectReview: SelfSubjectReview;
  readonly TokenReview: TokenReview;
  readonly SelfSubjectAccessReview: SelfSubjectAccessReview;
  readonly SubjectAccessReview: SubjectAccessReview;
  readonly LocalSubjectAccessReview: LocalSubjectAccessReview;
  readonly SelfSubjectRulesReview: SelfSubjectRulesReview;
}

export type ReviewKind = keyof Reviews;

/** The package of each one's messages and service. */
export const reviewPackages: Readonly<Record<ReviewKind, string>> = {
  SelfSubjectReview: 'berth.authentication.v1',
  TokenReview: 'berth.authentication.v1',
  SelfSubjectAccessReview: 'berth.authorization.v1',
  SubjectAccessReview: 'berth.authorization.v1',
  LocalSubjectAccessReview: 'berth.authorization.v1',
  SelfSubjectRulesReview: 'berth.authorization.v1',
};

/**
 * Answers a question: it comes back with its status, and nothing is stored. Throws PERMISSION_DENIED, and
 * INVALID_ARGUMENT.
 */
export function answerReview<K extends ReviewKind>(
  kind: K,
  object: Reviews[K],
  call: CallContext,
  tokens: ReviewTokens,
): Reviews[K] {
  const namespace = kind === 'LocalSubjectAccessReview' ? (object.metadata?.namespace ?? '') : '';
  call.authorize({ verb: 'create', kind, namespace, name: '' });
  return answers[kind](object, call, tokens);
}

type Answers = { readonly [K in ReviewKind]: (object: Reviews[K], call: CallContext, tokens: ReviewTokens) => Reviews[K] };

const answers: Answers = {
  SelfSubjectReview: (object, { identity }) => ({ ...object, status: { userInfo: userInfoOf(identity) } }),
  TokenReview({ metadata, spec = {} }, _, tokens) {
    const { token = '', audiences = [] } = spec;
    if (token === '') {
      const message = 'token is required for TokenReview in authentication';
      throw badRequest('give the token that is asked about: spec.token', [], { of: 'text', message });
    }
    // The token does not come back: an answer is more easily shown to others than a question.
    return { ...(metadata && { metadata }), spec: { audiences }, status: reviewToken(tokens, token, audiences) };
  },
  SelfSubjectAccessReview(object, { authorizer, identity }) {
    refuseReview('SelfSubjectAccessReview', [...ofMetadata(object), ...ofAttributes(object.spec)]);
    return { ...object, status: judge(authorizer, identity, object.spec ?? {}) };
  },
  SubjectAccessReview(object, { authorizer }) {
    refuseReview('SubjectAccessReview', [...ofMetadata(object), ...ofAttributes(object.spec), ...ofUser(object.spec)]);
    return { ...object, status: judgeOther(authorizer, object.spec) };
  },
  LocalSubjectAccessReview(object, { authorizer }) {
    const { namespace = '' } = object.metadata ?? {};
    if (namespace === '') throw badRequest('name the namespace that is asked about: metadata.namespace');
    refuseReview('LocalSubjectAccessReview', [
      ...ofMetadata(object, namespace),
      ...ofAttributes(object.spec),
      ...ofUser(object.spec),
      ...ofPlace(object.spec, namespace),
    ]);
    return { ...object, status: judgeOther(authorizer, object.spec) };
  },
  SelfSubjectRulesReview(object, { authorizer, identity }) {
    const { namespace = '' } = object.spec ?? {};
    if (namespace === '')
      throw badRequest('name the namespace that is asked about: spec.namespace', [], {
        ...{ of: 'text', message: 'no namespace on request' },
      });
    return { ...object, status: rulesIn(authorizer, identity, namespace) };
  },
};

// What Kubernetes refuses of a question, field by field.

function refuseReview(kind: ReviewKind, violations: readonly FieldViolation[]): void {
  if (violations.length === 0) return;
  throw invalid({ kind, group: 'authorization.k8s.io', resource: `${kind.toLowerCase()}s`, name: '' }, violations);
}

function ofMetadata({ metadata = {} }: ApiObject, namespace?: string): FieldViolation[] {
  const { managedFields: _, namespace: place, ...others } = metadata;
  const isEmpty = Object.keys(others).length === 0 && (!place || place === namespace);
  const why = namespace === undefined ? 'must be empty' : 'must be empty except for namespace';
  return isEmpty ? [] : [invalidValue('metadata', Object.keys(metadata).join(', '), why)];
}

function ofAttributes(spec: SelfSubjectAccessReviewSpec = {}): FieldViolation[] {
  const { resourceAttributes: wanted, nonResourceAttributes: path } = spec;
  if (wanted && path)
    return [invalidValue('spec.nonResourceAttributes', path.path, 'cannot be specified in combination with resourceAttributes')];
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return wanted || path ? [] : [invalidValue('spec.resourceAttributes', null, why)];
}

function ofUser({ user = '', groups = [] }: SubjectAccessReviewSpec = {}): FieldViolation[] {
  if (user !== '' || groups.length > 0) return [];
  return [invalidValue('spec.user', user, 'at least one of user or group must be specified')];
}

function ofPlace(
  { resourceAttributes: wanted, nonResourceAttributes: path }: SubjectAccessReviewSpec = {},
  namespace: string,
): FieldViolation[] {
  const place = wanted?.namespace ?? '';
  return [
    ...(wanted && place !== namespace
      ? [invalidValue('spec.resourceAttributes.namespace', place, 'must match metadata.namespace')]
      : []),
    ...(path ? [invalidValue('spec.nonResourceAttributes', path.path, 'disallowed on this kind of request')] : []),
  ];
}

function userInfoOf({ user, groups, uid, extra = {} }: Identity): UserInfo {
  const texts: [string, { items: string[] }][] = Object.entries(extra).map(([name, items]) => [name, { items: [...items] }]);
  return {
    username: user,
    groups: [...groups],
    ...(uid && { uid }),
    ...(texts.length > 0 && { extra: Object.fromEntries(texts) }),
  };
}

/** What is no token of a service account can only be for the API server. */
function reviewToken(
  { accounts, all }: ReviewTokens,
  token: string,
  wanted: readonly string[],
): NonNullable<TokenReview['status']> {
  const asked = wanted.length > 0 ? wanted : [TOKEN_ISSUER];
  try {
    const reviewed = accounts?.review(token, asked);
    const identity = reviewed?.identity ?? (asked.includes(TOKEN_ISSUER) ? all.find(token) : undefined);
    if (!identity) return { authenticated: false, error: 'the token is not known to this server' };
    return {
      authenticated: true,
      user: userInfoOf(known(identity)),
      audiences: [...(reviewed?.audiences ?? [TOKEN_ISSUER])],
    };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') return { authenticated: false, error: error.message };
    throw error;
  }
}

function judgeOther(authorizer: Authorizer, spec: SubjectAccessReviewSpec = {}): SubjectAccessReviewStatus {
  const { user = '', groups = [] } = spec;
  return judge(authorizer, { user, groups }, spec);
}

function judge(authorizer: Authorizer, identity: Identity, spec: SelfSubjectAccessReviewSpec): SubjectAccessReviewStatus {
  const { resourceAttributes: wanted, nonResourceAttributes: path } = spec;
  const allowed = wanted
    ? authorizer.allows(identity, attributesIn(wanted))
    : authorizer.mayPath(identity, path?.verb ?? '', path?.path ?? '');
  if (allowed) return { allowed, reason: isMaster(identity) ? 'the group system:masters may do everything' : '' };
  // As in Kubernetes there is no reason why roles do not say something, and kubectl prints "no" alone then.
  return { allowed, reason: isNode(identity) ? 'a node may do only what it needs for itself and for its pods' : '' };
}

function attributesIn(wanted: ResourceAttributes): Attributes {
  const {
    verb = '',
    group = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
    fieldSelector,
    labelSelector,
  } = wanted;
  const selected: Record<string, string> = {};
  const requirements = [...(fieldSelector?.requirements ?? []), ...(labelSelector?.requirements ?? [])];
  checkSelectorTerms('fieldSelector', requirements.length + requirements.flatMap(({ values = [] }) => values).length);
  parseLabelSelector(labelSelector?.rawSelector ?? '');
  for (const { field, operator, value } of parseFieldSelector(fieldSelector?.rawSelector ?? '').requirements)
    if (operator === '=') selected[field] = value;
  for (const { key = '', operator, values = [] } of fieldSelector?.requirements ?? [])
    if (operator === 'In' && values.length === 1) selected[key] = values[0]!;
  return { verb, group, resource, subresource, namespace, name: name || (selected['metadata.name'] ?? ''), selected };
}

/** What is allowed in a namespace: everywhere, and there. */
function rulesIn(authorizer: Authorizer, identity: Identity, namespace: string) {
  const all: PolicyRule[] = isMaster(identity)
    ? [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ]
    : [...new Set(['', namespace])].flatMap((place) => [...(authorizer.rulesOf(identity).rules.get(place) ?? [])]);
  const hasPaths = ({ nonResourceURLs = [] }: PolicyRule): boolean => nonResourceURLs.length > 0;
  return {
    resourceRules: all.filter((rule) => !hasPaths(rule)).map(({ nonResourceURLs: _, ...rule }) => rule),
    nonResourceRules: all.filter(hasPaths).map(({ verbs = [], nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
    incomplete: isNode(identity),
    evaluationError: isNode(identity) ? 'a node may do more, about itself and its pods, which no rule says' : '',
  };
}
