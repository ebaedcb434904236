import { MapValue, Opaque, type Value } from '../values.ts';
import { type Library, opaqueArg, readTexts, textArg, withSteps } from './library.ts';

/** What is asked about: a resource, as roles have it. */
export interface ResourceQuestion {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The rights of one user. */
export interface Rights {
  /** Tells users apart. */
  readonly user: string;
  may(verb: string, wanted: ResourceQuestion): boolean;
  mayPath(verb: string, path: string): boolean;
  /** Those of a service account. */
  of(namespace: string, name: string): Rights;
}

/** Steps of a check, as many as of some hundred others: a user with many roles is looked at whole. */
const CHECK_STEPS = 2_000;

const TYPES = {
  authorizer: 'kubernetes.authorization.Authorizer',
  path: 'kubernetes.authorization.PathCheck',
  group: 'kubernetes.authorization.GroupCheck',
  resource: 'kubernetes.authorization.ResourceCheck',
  decision: 'kubernetes.authorization.Decision',
} as const;

/** The type of the variable "authorizer". */
export const AUTHORIZER_TYPE: string = TYPES.authorizer;

/** The variable "authorizer": asks what a user may; `requestResource` is what the request is about. */
export class AuthorizerValue extends MapValue {
  readonly rights: Rights;
  readonly #requested: ResourceQuestion | undefined;

  constructor(rights: Rights, requested: ResourceQuestion | undefined) {
    super();
    this.rights = rights;
    this.#requested = requested;
  }

  override get(key: Value): Value | undefined {
    return key === 'requestResource' && this.#requested ? new ResourceCheck(this.rights, this.#requested) : undefined;
  }
}

/** What the rights of one user are asked about. */
abstract class Subject<About extends string | ResourceQuestion> extends Opaque {
  readonly rights: Rights;
  readonly about: About;

  constructor(rights: Rights, about: About) {
    super();
    this.rights = rights;
    this.about = about;
  }

  override get identity(): string {
    return `${this.rights.user} ${JSON.stringify(this.about)}`;
  }
}

class GroupCheck extends Subject<string> {
  override readonly typeName = TYPES.group;
}

/** What a verb may be checked on. */
abstract class Check<About extends string | ResourceQuestion = string | ResourceQuestion> extends Subject<About> {
  abstract allows(verb: string): boolean;
}

class PathCheck extends Check<string> {
  override readonly typeName = TYPES.path;

  override allows(verb: string): boolean {
    return this.rights.mayPath(verb, this.about);
  }
}

class ResourceCheck extends Check<ResourceQuestion> {
  override readonly typeName = TYPES.resource;

  override allows(verb: string): boolean {
    return this.rights.may(verb, this.about);
  }

  with(more: Partial<ResourceQuestion>): ResourceCheck {
    return new ResourceCheck(this.rights, { ...this.about, ...more });
  }
}

class Decision extends Opaque {
  override readonly typeName = TYPES.decision;
  readonly isAllowed: boolean;

  constructor(isAllowed: boolean) {
    super();
    this.isAllowed = isAllowed;
  }

  override get identity(): string {
    return String(this.isAllowed);
  }
}

const authorizerArg = (value: Value | undefined) => opaqueArg(AuthorizerValue, 'an authorizer', value);
const resourceArg = (value: Value | undefined) => opaqueArg(ResourceCheck, 'a resource of an authorizer', value);
const decisionArg = (value: Value | undefined) => opaqueArg(Decision, 'a decision of an authorizer', value);
const checkArg = (value: Value | undefined) => opaqueArg(Check, 'a check of an authorizer', value);

function noText([value]: readonly Value[]): string {
  decisionArg(value);
  return '';
}

/** Kubernetes' authorizer library: what the user of a request, or a service account, may do. */
export const authorization: Library = {
  name: 'authorizer',
  types: {
    [TYPES.authorizer]: AuthorizerValue,
    [TYPES.path]: PathCheck,
    [TYPES.group]: GroupCheck,
    [TYPES.resource]: ResourceCheck,
    [TYPES.decision]: Decision,
  },
  fields: { [TYPES.authorizer]: { requestResource: TYPES.resource } },
  signatures: [
    `${TYPES.authorizer}.path(string): ${TYPES.path}`,
    `${TYPES.authorizer}.group(string): ${TYPES.group}`,
    `${TYPES.authorizer}.serviceAccount(string, string): ${TYPES.authorizer}`,
    `${TYPES.group}.resource(string): ${TYPES.resource}`,
    ...['subresource', 'namespace', 'name'].map((name) => `${TYPES.resource}.${name}(string): ${TYPES.resource}`),
    `${TYPES.path}.check(string): ${TYPES.decision}`,
    `${TYPES.resource}.check(string): ${TYPES.decision}`,
    ...['allowed', 'errored'].map((name) => `${TYPES.decision}.${name}(): bool`),
    ...['reason', 'error'].map((name) => `${TYPES.decision}.${name}(): string`),
  ],
  handlers: {
    ...withSteps(CHECK_STEPS, {
      check([check, verb], budget) {
        readTexts(budget, textArg(verb));
        return new Decision(checkArg(check).allows(textArg(verb)));
      },
    }),
    path: ([authorizer, path]) => new PathCheck(authorizerArg(authorizer).rights, textArg(path)),
    group: ([authorizer, group]) => new GroupCheck(authorizerArg(authorizer).rights, textArg(group)),
    serviceAccount: ([authorizer, namespace, name]) =>
      new AuthorizerValue(authorizerArg(authorizer).rights.of(textArg(namespace), textArg(name)), undefined),
    resource([value, resource]) {
      const { rights, about: group } = opaqueArg(GroupCheck, 'a group of an authorizer', value);
      return new ResourceCheck(rights, { group, resource: textArg(resource), subresource: '', namespace: '', name: '' });
    },
    subresource: ([value, subresource]) => resourceArg(value).with({ subresource: textArg(subresource) }),
    namespace: ([value, namespace]) => resourceArg(value).with({ namespace: textArg(namespace) }),
    name: ([value, name]) => resourceArg(value).with({ name: textArg(name) }),
    allowed: ([value]) => decisionArg(value).isAllowed,
    // The authorizer always decides, and roles do not say why they do not allow.
    errored([value]) {
      decisionArg(value);
      return false;
    },
    reason: noText,
    error: noText,
  },
};
