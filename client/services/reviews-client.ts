import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SelfSubjectReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  SubjectRulesReviewStatus,
  TokenReview,
  TokenReviewSpec,
  TokenReviewStatus,
  UserInfo,
} from '../../api/generated/types.ts';
import type { Connection, Method } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

/** Self-reviews of identity and access; every authenticated user may ask about itself. */
export interface ReviewsClient {
  /** The user that the server has authenticated the caller as. */
  whoAmI(call?: CallOptions): Promise<UserInfo>;
  /** Whether the caller may do something. */
  canI(question: SelfSubjectAccessReviewSpec, call?: CallOptions): Promise<SubjectAccessReviewStatus>;
  /** What the caller may do in a namespace. */
  rules(namespace: string, call?: CallOptions): Promise<SubjectRulesReviewStatus>;
  /** Whether another user may do something. */
  can(question: SubjectAccessReviewSpec, call?: CallOptions): Promise<SubjectAccessReviewStatus>;
  /** The same in one namespace, for those who may ask about that only. */
  canIn(namespace: string, question: SubjectAccessReviewSpec, call?: CallOptions): Promise<SubjectAccessReviewStatus>;
  /**
   * The user of a bearer token, and whether it is for one of the audiences (none: for the API server). An invalid token
   * is an answer, no error.
   */
  token(question: TokenReviewSpec, call?: CallOptions): Promise<TokenReviewStatus>;
}

const method = (group: string, kind: string): Method => ({
  path: `/berth.${group}.v1.${kind}s/Create`,
  request: `berth.${group}.v1.${kind}WriteRequest`,
  response: `berth.${group}.v1.${kind}`,
});

const methods = {
  who: method('authentication', 'SelfSubjectReview'),
  canI: method('authorization', 'SelfSubjectAccessReview'),
  rules: method('authorization', 'SelfSubjectRulesReview'),
  can: method('authorization', 'SubjectAccessReview'),
  canIn: method('authorization', 'LocalSubjectAccessReview'),
  token: method('authentication', 'TokenReview'),
};

export function createReviewsClient(connection: Connection): ReviewsClient {
  const ask = <T extends object>(to: Method, spec: object | undefined, call?: CallOptions): Promise<T> =>
    connection.unary<T>(to, { object: spec ? { spec } : {} }, call);
  return {
    whoAmI: async (call) => (await ask<SelfSubjectReview>(methods.who, undefined, call)).status?.userInfo ?? {},
    canI: async (question, call) => (await ask<SelfSubjectAccessReview>(methods.canI, question, call)).status ?? {},
    rules: async (namespace, call) => (await ask<SelfSubjectRulesReview>(methods.rules, { namespace }, call)).status ?? {},
    can: async (question, call) => (await ask<SubjectAccessReview>(methods.can, question, call)).status ?? {},
    async canIn(namespace, question, call) {
      const object = { metadata: { namespace }, spec: question };
      return (await connection.unary<LocalSubjectAccessReview>(methods.canIn, { object }, call)).status ?? {};
    },
    token: async (question, call) => (await ask<TokenReview>(methods.token, question, call)).status ?? {},
  };
}
