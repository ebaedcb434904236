import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { until } from './agent-harness.ts';
import type { RunningServer } from './apiserver-harness.ts';

// The CronTabs of Kubernetes' documentation.

const schema: JsonObject = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['cronSpec'],
      properties: {
        cronSpec: { type: 'string', description: 'When it runs.' },
        image: { type: 'string' },
        replicas: { type: 'integer', default: 1 },
        steps: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, run: { type: 'string' } } },
        },
        finalizers: { type: 'array', items: { type: 'string' } },
      },
    },
    status: {
      type: 'object',
      properties: { replicas: { type: 'integer' }, labelSelector: { type: 'string' }, phase: { type: 'string' } },
    },
  },
};

/** A version of the kind; what is given replaces its members. */
export function versionOf(more: JsonObject = {}): JsonObject {
  return {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.labelSelector',
      },
    },
    additionalPrinterColumns: [
      { name: 'Spec', type: 'string', jsonPath: '.spec.cronSpec', description: 'When it runs' },
      { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', priority: 1 },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
    selectableFields: [{ jsonPath: '.spec.image' }],
    ...more,
  };
}

export function cronTabs(more: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'crontabs.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'], categories: ['all'] },
      versions: [versionOf()],
      ...more,
    },
  };
}

interface Changes extends JsonObject {}

/** A definition with one thing that is another. */
export function definitionOf({ metadata, names, schema: other, versions, spec }: Changes): JsonObject {
  const before = cronTabs() as { metadata: JsonObject; spec: JsonObject };
  const version = versionOf(other === undefined ? {} : { schema: { openAPIV3Schema: other } });
  return {
    ...before,
    metadata: { ...before.metadata, ...(metadata as JsonObject) },
    spec: {
      ...before.spec,
      names: { ...(before.spec.names as JsonObject), ...(names as JsonObject) },
      versions: versions === 2 ? [version, { ...version, name: 'v2' }] : [version],
      ...(spec as JsonObject),
    },
  };
}

export function cronTab(name: string, more: JsonObject = {}): JsonObject {
  return { apiVersion: 'stable.example.com/v1', kind: 'CronTab', metadata: { name, ...more }, spec: { cronSpec: '* * * * *' } };
}

export function condition(definition: JsonObject, type: string): JsonObject | undefined {
  const { conditions = [] } = (definition.status ?? {}) as { conditions?: JsonObject[] };
  return conditions.find((each) => each.type === type);
}

/** Creates a definition and waits until its kind is served. */
export async function establish({ client }: Pick<RunningServer, 'client'>, definition: JsonObject): Promise<void> {
  const { name = '' } = definition.metadata as { name?: string };
  await client.objects.create('CustomResourceDefinition', definition);
  await until(`${name} is established`, async () => {
    const now = await client.objects.get('CustomResourceDefinition', { name });
    return condition(now, 'Established')?.status === 'True';
  });
}
