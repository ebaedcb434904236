import type { JsonObject } from '../../../client/index.ts';
import { image } from '../pod-churn.ts';

/** What careless or malicious users may send, in Kubernetes' JSON, and what must come of it. */
export interface HostileCase {
  /** For people, and the name of a pod when made of letters and dashes. */
  readonly what: string;
  readonly pod: JsonObject;
  readonly expected: Expected;
}

export type Expected =
  /** By the API server: nothing is stored. */
  | { readonly outcome: 'refused'; readonly why: RegExp }
  /** By the scheduler: no node takes it. */
  | { readonly outcome: 'not scheduled'; readonly why: RegExp }
  /** By the node: the container never runs, and its status or an event says why. */
  | { readonly outcome: 'not started'; readonly why: RegExp }
  /** It runs as asked, or as far as is right; its last words prove that. */
  | { readonly outcome: 'harmless'; readonly says: RegExp };

export const refused = (why: RegExp): Expected => ({ outcome: 'refused', why });
export const notScheduled = (why: RegExp): Expected => ({ outcome: 'not scheduled', why });
export const notStarted = (why: RegExp): Expected => ({ outcome: 'not started', why });
export const harmless = (says: RegExp): Expected => ({ outcome: 'harmless', says });

/** A pod that runs a script once. What the script prints is what it says. */
export function once(script: string, container: JsonObject = {}, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  const main = {
    name: 'main',
    image,
    imagePullPolicy: 'IfNotPresent',
    // What the engine itself has to say stands in the log.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    command: ['sh', '-c', `{ ${script}; } 2>&1 | tail -c 3000 >/dev/termination-log`],
    ...container,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', ...metadata },
    spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...spec, containers: [main] },
  };
}

/** With one volume, mounted at /v. */
export function withVolume(
  source: JsonObject,
  mount: JsonObject = {},
  container: JsonObject = {},
  spec: JsonObject = {},
): JsonObject {
  const volumeMounts = [{ name: 'v', mountPath: '/v', ...mount }];
  return once('cat /v/* | head -c 100', { volumeMounts, ...container }, { volumes: [{ name: 'v', ...source }], ...spec });
}
