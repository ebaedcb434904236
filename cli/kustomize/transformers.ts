import { isJsonObject, type Json, type JsonObject, setMember } from '../../api/meta/merge-patch.ts';
import { checkMembers, type Kustomization, textIn } from './kustomization.ts';
import { moveDefaultSubjects, podSpecs, templated } from './references.ts';
import {
  describe,
  groupOfResource,
  isNamespaced,
  kindOfResource,
  metadataOf,
  nameOf,
  namesOf,
  type Resource,
  visitPath,
  visitSteps,
} from './resource.ts';

/** Changes name or namespace, and remembers what they were. */
function rename(resource: Resource, change: JsonObject): void {
  const before = nameOf(resource);
  Object.assign(metadataOf(resource.json), change);
  const after = nameOf(resource);
  if (before.name !== after.name || before.namespace !== after.namespace) resource.former.push(before);
}

export function setNamespace(kustomization: Kustomization, resources: readonly Resource[]): void {
  const namespace = kustomization.text('namespace');
  if (!namespace) return;
  for (const resource of resources) {
    if (kindOfResource(resource) === 'Namespace') rename(resource, { name: namespace });
    else if (isNamespaced(resource)) rename(resource, { namespace });
    if (kindOfResource(resource).endsWith('RoleBinding')) moveDefaultSubjects(resource, namespace);
  }
}

/** Kinds whose names mean something outside of the build. */
const keptNames = ['Namespace', 'CustomResourceDefinition', 'APIService'];

export function setNames(kustomization: Kustomization, resources: readonly Resource[]): void {
  const [prefix = '', suffix = ''] = [kustomization.text('namePrefix'), kustomization.text('nameSuffix')];
  if (prefix + suffix === '') return;
  for (const resource of resources)
    if (!keptNames.includes(kindOfResource(resource))) rename(resource, { name: `${prefix}${nameOf(resource).name}${suffix}` });
}

/** Adds the hash of their content to the names of generated objects. */
export function addHashes(resources: readonly Resource[], hash: (json: JsonObject) => string): void {
  for (const resource of resources)
    if (resource.hashed) rename(resource, { name: `${nameOf(resource).name}-${hash(resource.json)}` });
}

/** A path, and whether it is made where it is not there. */
type Field = readonly [path: string, create: boolean];

/** Where the templates of a kind keep their labels or annotations. */
function templateFields(kind: string, of: 'labels' | 'annotations'): Field[] {
  const fields: Field[] = templated.includes(kind) ? [[`spec.template.metadata.${of}`, true]] : [];
  if (kind === 'StatefulSet' && of === 'labels') fields.push(['spec.volumeClaimTemplates[].metadata.labels', true]);
  if (kind !== 'CronJob') return fields;
  return [
    [`spec.jobTemplate.metadata.${of}`, true],
    [`spec.jobTemplate.spec.template.metadata.${of}`, true],
  ];
}

/** Where a kind selects pods. */
function selectorFields(kind: string): Field[] {
  const selectors: Readonly<Record<string, readonly Field[]>> = {
    Service: [['spec.selector', true]],
    ReplicationController: [['spec.selector', true]],
    Job: [['spec.selector.matchLabels', false]],
    CronJob: [['spec.jobTemplate.spec.selector.matchLabels', false]],
    PodDisruptionBudget: [['spec.selector.matchLabels', false]],
    NetworkPolicy: [
      ['spec.podSelector.matchLabels', false],
      ['spec.ingress[].from[].podSelector.matchLabels', false],
      ['spec.egress[].to[].podSelector.matchLabels', false],
    ],
  };
  const own = Object.hasOwn(selectors, kind) ? [...selectors[kind]!] : [];
  if (['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'].includes(kind)) own.push(['spec.selector.matchLabels', true]);
  if (kind !== 'Deployment' && kind !== 'StatefulSet') return own;
  const affinity = ['podAffinity', 'podAntiAffinity'].flatMap((each): Field[] => [
    [
      `${podSpecs[kind]}.affinity.${each}.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm.labelSelector.matchLabels`,
      false,
    ],
    [`${podSpecs[kind]}.affinity.${each}.requiredDuringSchedulingIgnoredDuringExecution[].labelSelector.matchLabels`, false],
  ]);
  return [...own, ...affinity, [`${podSpecs[kind]}.topologySpreadConstraints[].labelSelector.matchLabels`, false]];
}

/** A field that a kustomization names for labels, in objects of a kind or of all. */
interface LabelField {
  readonly steps: readonly string[];
  readonly create: boolean;
  readonly of: Readonly<Record<'group' | 'version' | 'kind', string | undefined>>;
  refuse(why: string): Error;
}

function readLabelFields(kustomization: Kustomization, { fields = [] }: JsonObject, path: string): LabelField[] {
  if (!Array.isArray(fields)) throw kustomization.refuse(`${path}: expected a list`);
  return fields.map((item, i) => {
    const refuse = (why: string): Error => kustomization.refuse(`${path}[${i}]: ${why}`);
    if (!isJsonObject(item)) throw refuse('expected an object with path');
    checkMembers(item, ['path', 'create', 'group', 'version', 'kind'], refuse);
    const [at, group, version, kind] = ['path', 'group', 'version', 'kind'].map((name) => textIn(item, name, refuse));
    if (!at) throw refuse('path is required, as "spec/template/metadata/labels"');
    // A slash within a name has a backslash before it.
    const steps = at.split(/(?<!\\)\//).map((step) => step.replaceAll('\\/', '/'));
    return { steps: steps.filter(Boolean), create: item.create === true, of: { group, version, kind }, refuse };
  });
}

function putNamed(resource: Resource, { steps, create, of, refuse }: LabelField, pairs: Readonly<Record<string, string>>): void {
  const version = String(resource.json.apiVersion).split('/').at(-1);
  const own = { group: groupOfResource(resource), version, kind: kindOfResource(resource) };
  if ((['group', 'version', 'kind'] as const).some((name) => of[name] && of[name] !== own[name])) return;
  const put = (parent: JsonObject, key: string): void => {
    const present = parent[key] ?? undefined;
    if (present === undefined && !create) return;
    if (present !== undefined && !isJsonObject(present))
      throw refuse(`${describe(resource)} has no object there, to which labels could be added`);
    setMember(parent, key, { ...present, ...pairs });
  };
  visitSteps(resource.json, steps, put, create);
}

export function setLabels(kustomization: Kustomization, resources: readonly Resource[]): void {
  const sets = kustomization.objects('labels').map(({ item, path }) => {
    const known = ['pairs', 'includeSelectors', 'includeTemplates', 'fields'];
    checkMembers(item, known, (why) => kustomization.refuse(`${path}: ${why}`));
    const selectors = item.includeSelectors === true;
    return {
      pairs: kustomization.pairs('pairs', item, `${path}.pairs`),
      selectors,
      templates: selectors || item.includeTemplates === true,
      named: readLabelFields(kustomization, item, `${path}.fields`),
    };
  });
  const common = kustomization.pairs('commonLabels');
  if (Object.keys(common).length > 0) sets.push({ pairs: common, selectors: true, templates: true, named: [] });
  for (const { pairs, selectors, templates, named } of sets)
    for (const resource of resources) {
      const kind = kindOfResource(resource);
      const fields: Field[] = [['metadata.labels', true]];
      if (templates) fields.push(...templateFields(kind, 'labels'));
      if (selectors) fields.push(...selectorFields(kind));
      putPairs(resource, fields, pairs);
      for (const field of named) putNamed(resource, field, pairs);
    }
}

export function setAnnotations(kustomization: Kustomization, resources: readonly Resource[]): void {
  const pairs = kustomization.pairs('commonAnnotations');
  if (Object.keys(pairs).length === 0) return;
  for (const resource of resources)
    putPairs(resource, [['metadata.annotations', true], ...templateFields(kindOfResource(resource), 'annotations')], pairs);
}

function putPairs({ json }: Resource, fields: readonly Field[], pairs: Readonly<Record<string, string>>): void {
  for (const [path, create] of fields)
    visitPath(
      json,
      path,
      (parent, key) => {
        const present = parent[key];
        if (isJsonObject(present)) Object.assign(present, pairs);
        else if (create) parent[key] = { ...pairs };
      },
      create,
    );
}

interface ImageChange {
  readonly name: string;
  readonly newName: string | undefined;
  readonly newTag: string | undefined;
  readonly digest: string | undefined;
  readonly tagSuffix: string | undefined;
}

export function setImages(kustomization: Kustomization, resources: readonly Resource[]): void {
  const changes = kustomization.objects('images').map(({ item, path }): ImageChange => {
    const refuse = (why: string): Error => kustomization.refuse(`${path}: ${why}`);
    checkMembers(item, ['name', 'newName', 'newTag', 'digest', 'tagSuffix'], refuse);
    const [name, newName, newTag, digest, tagSuffix] = ['name', 'newName', 'newTag', 'digest', 'tagSuffix'].map((key) =>
      textIn(item, key, refuse),
    );
    if (!name) throw refuse('name is required: the image as the manifests have it, without its tag');
    return { name, newName, newTag, digest, tagSuffix };
  });
  if (changes.length > 0) for (const { json } of resources) changeImages(json, changes);
}

/** Lists of containers stand at any depth, also in kinds that Berth does not know. */
function changeImages(value: Json, changes: readonly ImageChange[]): void {
  if (Array.isArray(value)) for (const item of value) changeImages(item, changes);
  if (!isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    if ((key === 'containers' || key === 'initContainers') && Array.isArray(member))
      for (const container of member)
        if (isJsonObject(container) && typeof container.image === 'string')
          container.image = changes.reduce(changedImage, container.image);
    changeImages(member, changes);
  }
}

export function changedImage(image: string, { name, newName, newTag, digest, tagSuffix }: ImageChange): string {
  const [, base, tag = '', sum = ''] = /^(.+?)(?::([^:/@]*))?(?:@(.*))?$/.exec(image) ?? [];
  if (base !== name) return image;
  const given = newTag !== undefined || digest !== undefined;
  const nextTag = given ? (newTag ?? '') : `${tag}${tagSuffix ?? ''}`;
  const nextSum = given ? (digest ?? '') : tagSuffix === undefined ? sum : '';
  return `${newName ?? base}${nextTag && `:${nextTag}`}${nextSum && `@${nextSum}`}`;
}

const replicated = ['Deployment', 'ReplicaSet', 'ReplicationController', 'StatefulSet'];

export function setReplicas(kustomization: Kustomization, resources: readonly Resource[]): void {
  for (const { item, path } of kustomization.objects('replicas')) {
    const refuse = (why: string): Error => kustomization.refuse(`${path}: ${why}`);
    checkMembers(item, ['name', 'count'], refuse);
    const name = textIn(item, 'name', refuse);
    const { count } = item;
    if (!name || !Number.isSafeInteger(count)) throw refuse('name and count are required, count is a whole number');
    const found = resources.filter(
      (each) => replicated.includes(kindOfResource(each)) && namesOf(each).some((known) => known.name === name),
    );
    if (found.length === 0) throw refuse(`no ${replicated.join(', ')} is called "${name}"`);
    for (const { json } of found) visitPath(json, 'spec.replicas', (parent, key) => setMember(parent, key, count!), true);
  }
}
