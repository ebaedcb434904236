import { statSync } from 'node:fs';
import { badRequest } from '../../api/errors/index.ts';
import { groupOf } from '../../api/kinds/identity.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { contentHash } from './content-hash.ts';
import { generate } from './generators.ts';
import { Kustomization, parseObjects, readText } from './kustomization.ts';
import { patchJson6902, patchResources } from './patches.ts';
import { rewriteReferences } from './references.ts';
import { describe, idOf, kindOfResource, nameOf, type Resource, readResource } from './resource.ts';
import { addHashes, setAnnotations, setImages, setLabels, setNames, setNamespace, setReplicas } from './transformers.ts';

/** Bases in bases multiply: what is written by hand has far fewer. */
const maxKustomizations = 1000;
const maxResources = 100_000;

/**
 * The objects of a kustomization, as `kubectl kustomize` builds them, in its order. Reads files below the folder and
 * the folders of its bases only. Throws INVALID_ARGUMENT with the file and field of what is wrong or not supported.
 */
export function buildKustomization(folder: string): JsonObject[] {
  const build = new Build();
  const top = build.open(folder, []);
  const resources: Resource[] = [];
  build.accumulate(top, resources, []);
  addHashes(resources, contentHash);
  rewriteReferences(resources);
  checkIds(resources);
  if (resources.length === 0) throw top.refuse('it makes no objects: name files or folders in resources');
  return inOrder(top, resources).map(({ json }) => json);
}

class Build {
  #opened = 0;

  /** `above`: the folders that led here. */
  open(folder: string, above: readonly string[]): Kustomization {
    if (++this.#opened > maxKustomizations)
      throw badRequest(`${folder}: more than ${maxKustomizations} kustomizations in one build`);
    const kustomization = Kustomization.read(folder);
    if (above.includes(kustomization.root))
      throw kustomization.refuse(`it is its own base: ${[...above, kustomization.root].join(' > ')}`);
    return kustomization;
  }

  /** Adds what the kustomization makes, and changes all that is there: of a component, also what it is added to. */
  accumulate(kustomization: Kustomization, resources: Resource[], above: readonly string[]): void {
    const path = [...above, kustomization.root];
    for (const entry of [...kustomization.strings('resources'), ...kustomization.strings('bases')])
      resources.push(...this.#read(kustomization, entry, path));
    if (resources.length > maxResources) throw kustomization.refuse(`more than ${maxResources} objects in one build`);
    checkIds(resources);
    generate(kustomization, resources);
    for (const entry of kustomization.strings('components')) {
      const component = this.open(kustomization.pathOf(entry), path);
      if (!component.isComponent) throw component.refuse('it is named in components, so its kind has to be Component');
      this.accumulate(component, resources, path);
    }
    patchResources(kustomization, resources);
    setNamespace(kustomization, resources);
    setNames(kustomization, resources);
    setLabels(kustomization, resources);
    setAnnotations(kustomization, resources);
    patchJson6902(kustomization, resources);
    setReplicas(kustomization, resources);
    setImages(kustomization, resources);
    rewriteReferences(resources);
  }

  /** What one entry of `resources` means: a folder with a kustomization, or a file of objects. */
  #read(kustomization: Kustomization, entry: string, path: readonly string[]): Resource[] {
    const target = kustomization.pathOf(entry);
    if (statSync(target).isDirectory()) {
      const base = this.open(target, path);
      if (base.isComponent) throw base.refuse('it is a Component: name it in components, not in resources');
      const resources: Resource[] = [];
      this.accumulate(base, resources, path);
      return resources;
    }
    const file = kustomization.fileAt(entry);
    return parseObjects(readText(file), file).map((value) => readResource(value, file));
  }
}

function checkIds(resources: readonly Resource[]): void {
  const seen = new Map<string, Resource>();
  for (const resource of resources) {
    const id = idOf(resource);
    const other = seen.get(id);
    if (other) throw badRequest(`${resource.origin}: ${describe(resource)} is there already, ${whence(resource, other)}`);
    seen.set(id, resource);
  }
}

function whence({ origin }: Resource, other: Resource): string {
  if (origin !== other.origin) return `from ${other.origin}: name one of them only, or patch it`;
  return 'from the same file: it is named twice, holds it twice, or two bases lead to it with no namePrefix to tell them apart';
}

/** What other objects need comes first; the rest by group, version and kind. */
const first = [
  ...['Namespace', 'ResourceQuota', 'StorageClass', 'CustomResourceDefinition', 'ServiceAccount', 'PodSecurityPolicy', 'Role'],
  ...['ClusterRole', 'RoleBinding', 'ClusterRoleBinding', 'ConfigMap', 'Secret', 'Endpoints', 'Service', 'LimitRange'],
  ...[
    'PriorityClass',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'Deployment',
    'StatefulSet',
    'CronJob',
    'PodDisruptionBudget',
  ],
];
const last = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];

/** kustomize's "legacy" order, unless the file asks for that of its resources ("fifo"). */
function inOrder(kustomization: Kustomization, resources: readonly Resource[]): readonly Resource[] {
  const { order = 'legacy', ...others } = kustomization.object('sortOptions');
  if ((order !== 'fifo' && order !== 'legacy') || Object.keys(others).length > 0)
    throw kustomization.refuse('sortOptions: only order: fifo and order: legacy are supported');
  if (order === 'fifo') return resources;
  const rank = (resource: Resource): number => {
    const kind = kindOfResource(resource);
    if (first.includes(kind)) return first.indexOf(kind) - first.length;
    return 1 + last.indexOf(kind);
  };
  const type = (resource: Resource): string => {
    const version = String(resource.json.apiVersion);
    return [groupOf(version) || '~G', version.slice(version.indexOf('/') + 1), kindOfResource(resource)].join('_');
  };
  const place = (resource: Resource): string => {
    const { name, namespace } = nameOf(resource);
    return [namespace || '~X', name].join('|');
  };
  const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
  return resources.toSorted((a, b) => rank(a) - rank(b) || compare(type(a), type(b)) || compare(place(a), place(b)));
}
