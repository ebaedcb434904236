import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import type { WebhookServer } from './webhook-harness.ts';

// A kind of two versions as Kubernetes' own tests have it: v1 says "hostPort", v2 "host" and "port".

const text = { type: 'string' };
const withStatus = (properties: JsonObject): JsonObject => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      ...properties,
      note: { type: 'string', default: 'none' },
      replicas: { type: 'integer' },
      status: { type: 'object', properties: { replicas: { type: 'integer' } } },
      spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
    },
  },
});

const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

/** The definition, with the version that objects are stored in. */
export function places(clientConfig: JsonObject, storage = 'v2', more: JsonObject = {}): JsonObject {
  const versions = [
    { name: 'v1', schema: withStatus({ hostPort: text }), selectableFields: [{ jsonPath: '.hostPort' }] },
    { name: 'v2', schema: withStatus({ host: text, port: text }), selectableFields: [{ jsonPath: '.host' }] },
  ].map((each) => ({ ...each, served: true, storage: each.name === storage, subresources: { status: {}, scale } }));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'places.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'places', kind: 'Place' },
      versions,
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1', 'v1beta1'] } },
      ...more,
    },
  };
}

export const place = (version: 'v1' | 'v2', name: string, more: JsonObject): JsonObject => ({
  apiVersion: `stable.example.com/${version}`,
  kind: 'Place',
  metadata: { name, namespace: 'default' },
  ...more,
});

/** One object in another version. Throws an Error whose message the webhook answers. */
export function converted(object: JsonObject, desired: string): JsonObject {
  if (object.apiVersion === desired) throw new Error('conversion from a version to itself should not call the webhook');
  const { hostPort, host, port, ...rest } = object;
  const next: JsonObject = { ...rest, apiVersion: desired };
  if (desired.endsWith('/v2') && typeof hostPort === 'string') {
    const parts = hostPort.split(':');
    if (parts.length !== 2) throw new Error(`invalid hostPort value \`${hostPort}\``);
    Object.assign(next, { host: parts[0], port: parts[1] });
  }
  if (desired.endsWith('/v1') && (host !== undefined || port !== undefined)) next.hostPort = `${host ?? ''}:${port ?? ''}`;
  return next;
}

interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly JsonObject[];
}

/** What a webhook answers to a request. */
export type Convert = (request: ConversionRequest) => Record<string, unknown>;

export const good: Convert = ({ uid, desiredAPIVersion, objects }) => {
  try {
    const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion));
    return { uid, result: { status: 'Success' }, convertedObjects };
  } catch (error) {
    return { uid, result: { status: 'Failure', message: (error as Error).message } };
  }
};

/** Serves a conversion webhook at a path; it may be exchanged. */
export function handleConversions(hooks: WebhookServer, path: string) {
  let convert: Convert = good;
  let before: () => Promise<void> = async () => {};
  hooks.handle(path, async (request, response: ServerResponse) => {
    await before();
    const review = convert(request as unknown as ConversionRequest);
    const answer = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response: review };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    return undefined;
  });
  return {
    use(next: Convert): void {
      convert = next;
    },
    /** Every call waits for it. */
    wait(next: () => Promise<void>): void {
      before = next;
    },
    asked: () => hooks.asked(path) as unknown as ConversionRequest[],
  };
}
