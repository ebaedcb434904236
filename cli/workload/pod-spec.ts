import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type Tree, tree } from '../describe/json.ts';

/** Where the template of pods stands in objects of a kind; of a pod it is the pod itself. */
const templatePaths: Readonly<Record<string, readonly string[]>> = {
  Pod: [],
  PodTemplate: ['template'],
  ReplicationController: ['spec', 'template'],
  Deployment: ['spec', 'template'],
  ReplicaSet: ['spec', 'template'],
  StatefulSet: ['spec', 'template'],
  DaemonSet: ['spec', 'template'],
  Job: ['spec', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
};

export function hasTemplate({ kind }: Pick<Kind, 'kind'>): boolean {
  return Object.hasOwn(templatePaths, kind);
}

/** The template of an object's pods; empty for a kind without one. */
export function templateOf({ kind }: Pick<Kind, 'kind'>, object: Tree): Tree {
  return hasTemplate({ kind }) ? tree(object, ...templatePaths[kind]!) : {};
}

/** A patch of an object that patches the template of its pods. */
export function onTemplate({ kind }: Pick<Kind, 'kind'>, patch: JsonObject): JsonObject {
  return (templatePaths[kind] ?? []).reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), patch);
}
