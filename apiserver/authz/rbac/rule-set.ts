import type { PolicyRule } from '../../../api/generated/types.ts';
import type { Attributes } from '../attributes.ts';

/** The size of a user's decision cache. A client repeats the same few requests. */
const MAX_ANSWERS = 1_000;
/** Bounds the keys of the decision cache: attributes come from clients and may be as long as a message. */
const MAX_QUESTION = 512;

/** A rule's grant on one resource. */
interface Grant {
  readonly verbs: ReadonlySet<string>;
  /** Undefined: all names. */
  readonly names: ReadonlySet<string> | undefined;
}

type Grants = ReadonlyMap<string, readonly Grant[]>;

const noGrants: Grants = new Map();

/**
 * A user's permissions, in the cluster and in each namespace. Indexed by resource, so a decision costs as much as the
 * rules for that resource, and cached. Immutable: changed rules make a new set.
 */
export class RuleSet {
  /** The rules as they were written, by namespace; "" is everywhere. */
  readonly rules: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly #grants = new Map<string, Grants>();
  readonly #answers = new Map<string, boolean | readonly Grant[]>();

  constructor(rules: ReadonlyMap<string, readonly PolicyRule[]>) {
    this.rules = rules;
  }

  allows(attributes: Attributes): boolean {
    const { verb, group, resource, subresource, namespace } = attributes;
    const question = `${verb} ${group}/${resource}/${subresource} ${namespace}`;
    let answer = this.#answers.get(question);
    if (answer === undefined) {
      answer = this.#judge(attributes);
      if (question.length > MAX_QUESTION) return isYes(answer, attributes);
      if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
      this.#answers.set(question, answer);
    }
    return isYes(answer, attributes);
  }

  /** Non-resource URLs are rare, so decisions are not cached. A trailing "*" is a wildcard. */
  allowsPath(verb: string, path: string): boolean {
    return (this.rules.get('') ?? []).some(
      ({ verbs = [], nonResourceURLs = [] }) =>
        (verbs.includes(verb) || verbs.includes('*')) && nonResourceURLs.some((allowed) => coversPath(allowed, path)),
    );
  }

  /** True or false, or the grants on which it depends that name objects. */
  #judge({ verb, group, resource, subresource, namespace }: Attributes): boolean | readonly Grant[] {
    const named: Grant[] = [];
    for (const place of namespace === '' ? [''] : ['', namespace]) {
      const grants = this.#grantsOf(place);
      for (const key of keysOf(group, resource, subresource)) {
        for (const grant of grants.get(key) ?? []) {
          if (!grant.verbs.has(verb) && !grant.verbs.has('*')) continue;
          if (!grant.names) return true;
          named.push(grant);
        }
      }
    }
    return named.length > 0 && named;
  }

  #grantsOf(namespace: string): Grants {
    const rules = this.rules.get(namespace);
    // Caches only namespaces in which the user has a role.
    if (!rules) return noGrants;
    let grants = this.#grants.get(namespace);
    if (!grants) {
      grants = compile(rules);
      this.#grants.set(namespace, grants);
    }
    return grants;
  }
}

function isYes(answer: boolean | readonly Grant[], attributes: Attributes): boolean {
  return typeof answer === 'boolean' ? answer : hasName(answer, attributes);
}

/** What is created has no name yet; a subresource of something that is there has. */
function hasName(grants: readonly Grant[], { verb, subresource, name }: Attributes): boolean {
  if (name === '' || (verb === 'create' && subresource === '')) return false;
  return grants.some(({ names }) => names?.has(name));
}

function compile(rules: readonly PolicyRule[]): Grants {
  const grants = new Map<string, Grant[]>();
  for (const { verbs = [], apiGroups = [], resources = [], resourceNames = [] } of rules) {
    const grant = { verbs: new Set(verbs), names: resourceNames.length > 0 ? new Set(resourceNames) : undefined };
    for (const group of apiGroups) {
      for (const resource of resources) {
        const key = `${group}/${resource}`;
        const known = grants.get(key);
        if (known) known.push(grant);
        else grants.set(key, [grant]);
      }
    }
  }
  return grants;
}

/** Everything that a rule can say which means this resource. "*" is every resource and every subresource. */
function keysOf(group: string, resource: string, subresource: string): string[] {
  const names = subresource === '' ? [resource, '*'] : [`${resource}/${subresource}`, `*/${subresource}`, '*'];
  return names.flatMap((name) => [`${group}/${name}`, `*/${name}`]);
}

export function coversPath(allowed: string, path: string): boolean {
  return allowed === path || allowed === '*' || (allowed.endsWith('*') && path.startsWith(allowed.slice(0, -1)));
}
