import { createReadStream } from 'node:fs';
import { maxSettingsBytes, settingsText } from '../../api/codec/settings-text.ts';
import { readSettings } from '../../api/codec/yaml-settings.ts';
import { badRequest } from '../../api/errors/index.ts';
import { isJsonObject } from '../../api/meta/merge-patch.ts';
import { controlPlane, groups as groupNames, type Identity } from '../authn/identity.ts';
import type { Attributes } from '../authz/attributes.ts';

/**
 * How much of a call is written down, Kubernetes' words: nothing; who, what and how it ended; also what was sent; also
 * what was answered.
 */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

/** What a rule is about; what it does not name may be anything. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly resources?: readonly AuditResources[];
}

/** "pods" is the resource alone, "pods/log" its part, "pods/*" all its parts, "*" everything. */
export interface AuditResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface AuditPolicy {
  /** What was not permitted is written down also where no rule says so. */
  readonly refusals?: true;
  readonly rules: readonly AuditRule[];
}

export const readVerbs: readonly string[] = ['get', 'list', 'watch'];

/** The default policy: writes of users and programs, reads of Secrets, and access to containers. */
export const defaultPolicy: AuditPolicy = {
  refusals: true,
  rules: [
    // Reads by the control plane, many each minute.
    { level: 'None', users: Object.values(controlPlane), verbs: readVerbs },
    { level: 'None', userGroups: [groupNames.nodes], verbs: readVerbs },
    { level: 'None', resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] },
    { level: 'None', resources: [{ group: '', resources: ['events', 'nodes/status', 'pods/status'] }] },
    { level: 'None', resources: [{ group: 'berth.io', resources: ['nodemetrics', 'schedulers', 'placements'] }] },
    { level: 'None', resources: [{ group: 'metrics.k8s.io' }] },
    // Self-reviews change nothing.
    { level: 'None', resources: [{ group: 'authentication.k8s.io', resources: ['selfsubjectreviews'] }] },
    {
      level: 'None',
      resources: [{ group: 'authorization.k8s.io', resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'] }],
    },
    // Reads through proxies reach containers, and the logs of nodes.
    { level: 'Metadata', resources: [{ group: '', resources: ['secrets', 'pods/*', 'services/proxy', 'nodes/proxy'] }] },
    { level: 'None', verbs: readVerbs },
    { level: 'Metadata' },
  ],
};

/** More are a sign of something that is not in the API. */
const mostRemembered = 1_000;

/**
 * Says how much of a call is written down: by the first rule that fits, nothing when none does. Caches the level of a
 * caller where only verb and resource decide.
 */
export class AuditLevels {
  readonly #rules: readonly CompiledRule[];
  readonly #isSimple: boolean;
  readonly #remembered = new WeakMap<Identity, Map<string, AuditLevel>>();

  constructor({ rules }: AuditPolicy) {
    this.#rules = rules.map((rule) => ({ ...rule, resources: rule.resources?.map(compile) }));
    this.#isSimple = rules.every(
      ({ namespaces, resources }) => !namespaces && !resources?.some((each) => each.resourceNames?.length),
    );
  }

  of(identity: Identity, attributes: Attributes): AuditLevel {
    if (!this.#isSimple) return this.#judge(identity, attributes);
    const levels = this.#remembered.get(identity) ?? new Map<string, AuditLevel>();
    const key = `${attributes.verb} ${attributes.group}/${attributes.resource}/${attributes.subresource}`;
    const known = levels.get(key);
    if (known !== undefined) return known;
    const level = this.#judge(identity, attributes);
    if (levels.size < mostRemembered) this.#remembered.set(identity, levels.set(key, level));
    return level;
  }

  #judge(identity: Identity, attributes: Attributes): AuditLevel {
    const level = this.#rules.find((rule) => fits(rule, identity, attributes))?.level ?? 'None';
    if (level === 'None' || level === 'Metadata') return level;
    return secret.some((each) => isAmong(each, attributes)) ? 'Metadata' : level;
  }
}

interface CompiledResources {
  readonly group: string;
  /** Resource and part of "pods/log"; none: all of the group. */
  readonly patterns: readonly (readonly [resource: string, part: string | undefined])[];
  readonly names: readonly string[];
}

interface CompiledRule extends Omit<AuditRule, 'resources'> {
  readonly resources?: readonly CompiledResources[] | undefined;
}

function compile({ group = '', resources = [], resourceNames = [] }: AuditResources): CompiledResources {
  const patterns = resources.map((pattern) => {
    const [resource = '', part] = pattern.split('/');
    return [resource, part] as const;
  });
  return { group, patterns, names: resourceNames };
}

/** Nothing of what they hold is ever written down, whatever a policy says. */
const secret: readonly CompiledResources[] = [
  compile({ group: '', resources: ['secrets', 'serviceaccounts/token'] }),
  compile({ group: 'authentication.k8s.io' }),
];

function fits(rule: CompiledRule, { user, groups }: Identity, attributes: Attributes): boolean {
  const { users, userGroups, verbs, namespaces, resources } = rule;
  return (
    (!users || users.includes(user)) &&
    (!userGroups || userGroups.some((group) => groups.includes(group))) &&
    (!verbs || verbs.includes(attributes.verb)) &&
    (!namespaces || namespaces.includes(attributes.namespace)) &&
    (!resources || resources.some((each) => isAmong(each, attributes)))
  );
}

function isAmong({ group, patterns, names }: CompiledResources, attributes: Attributes): boolean {
  if (group !== attributes.group) return false;
  if (names.length > 0 && !names.includes(attributes.name)) return false;
  return patterns.length === 0 || patterns.some((each) => isMeant(each, attributes));
}

function isMeant([kind, part]: CompiledResources['patterns'][number], { resource, subresource }: Attributes): boolean {
  if (kind !== '*' && kind !== resource) return false;
  if (part === undefined) return kind === '*' || subresource === '';
  return part === '*' ? subresource !== '' : part === subresource;
}

/** Reads a policy in Kubernetes' form (audit.k8s.io/v1, Policy). Throws a sentence that names the place. */
export async function readPolicy(path: string): Promise<AuditPolicy> {
  let text: string;
  try {
    text = await settingsText(createReadStream(path, { end: maxSettingsBytes }));
  } catch (cause) {
    throw badRequest(
      `read the audit policy ${path}: ${(cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message}`,
    );
  }
  return parsePolicy(text, path);
}

export function parsePolicy(text: string, path: string): AuditPolicy {
  const refuse = (at: string, why: string) => badRequest(`${path}: ${at === '' ? '' : `${at}: `}${why}`);
  let value: unknown;
  try {
    value = readSettings(text);
  } catch (cause) {
    throw refuse('', (cause as Error).message);
  }
  if (!isJsonObject(value)) throw refuse('', 'it must be an object: apiVersion, kind, rules');
  checkFields(value, ['apiVersion', 'kind', 'metadata', 'rules'], '', refuse);
  if (value.kind !== 'Policy' || value.apiVersion !== 'audit.k8s.io/v1')
    throw refuse('', 'it must begin with apiVersion: audit.k8s.io/v1 and kind: Policy');
  if (!Array.isArray(value.rules) || value.rules.length === 0) throw refuse('rules', 'must be a list of at least one rule');
  return { rules: value.rules.map((rule, i) => readRule(rule, `rules[${i}]`, refuse)) };
}

type Refuse = (at: string, why: string) => Error;

function readRule(value: unknown, at: string, refuse: Refuse): AuditRule {
  if (!isJsonObject(value)) throw refuse(at, 'must be an object');
  checkFields(value, ['level', 'users', 'userGroups', 'verbs', 'namespaces', 'resources'], at, refuse);
  if (!auditLevels.includes(value.level as AuditLevel)) throw refuse(`${at}.level`, `must be ${auditLevels.join(', ')}`);
  const lists = (['users', 'userGroups', 'verbs', 'namespaces'] as const).flatMap((name) => {
    const list = value[name];
    return list === undefined ? [] : [[name, readWords(list, `${at}.${name}`, refuse)] as const];
  });
  const { resources } = value;
  if (resources !== undefined && !Array.isArray(resources)) throw refuse(`${at}.resources`, 'must be a list');
  return {
    level: value.level as AuditLevel,
    ...Object.fromEntries(lists),
    ...(resources && { resources: resources.map((each, i) => readResources(each, `${at}.resources[${i}]`, refuse)) }),
  };
}

function readResources(value: unknown, at: string, refuse: Refuse): AuditResources {
  if (!isJsonObject(value)) throw refuse(at, 'must be an object');
  checkFields(value, ['group', 'resources', 'resourceNames'], at, refuse);
  const { group = '', resources, resourceNames } = value;
  if (typeof group !== 'string') throw refuse(`${at}.group`, 'must be a text');
  return {
    group,
    ...(resources !== undefined && { resources: readWords(resources, `${at}.resources`, refuse) }),
    ...(resourceNames !== undefined && { resourceNames: readWords(resourceNames, `${at}.resourceNames`, refuse) }),
  };
}

function readWords(value: unknown, at: string, refuse: Refuse): string[] {
  if (!Array.isArray(value) || value.some((each) => typeof each !== 'string')) throw refuse(at, 'must be a list of texts');
  return value as string[];
}

function checkFields(value: object, known: readonly string[], at: string, refuse: Refuse): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw refuse(at === '' ? unknown : `${at}.${unknown}`, `unknown field; there are ${known.join(', ')}`);
}
