import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { type DebugFlags, debugContainer, nameSuffix } from './debug-container.ts';

/** The name that kubectl gives the container. */
export const nodeDebugger = 'debugger';

/** What a profile leaves to a pod for looking into its node. */
interface NodeAccess {
  readonly hostNamespaces: boolean;
  readonly hostRoot: boolean;
}

/** As kubectl's: the profiles of the Pod Security Standards allow neither. */
const access: Readonly<Record<DebugFlags['profile'], NodeAccess>> = {
  legacy: { hostNamespaces: true, hostRoot: true },
  general: { hostNamespaces: true, hostRoot: true },
  baseline: { hostNamespaces: false, hostRoot: false },
  restricted: { hostNamespaces: false, hostRoot: false },
  netadmin: { hostNamespaces: true, hostRoot: false },
  sysadmin: { hostNamespaces: true, hostRoot: true },
};

export interface NodePodInput {
  readonly name: string;
  readonly node: string;
  /** The command, or its arguments. */
  readonly words: readonly string[];
  readonly flags: DebugFlags;
}

/**
 * A pod on a node, as `kubectl debug node/NAME` makes it: in the namespaces of the machine, with its files below /host.
 * It passes the scheduler and every taint, and stays until it is deleted.
 */
export function nodePod({ name, node, words, flags }: NodePodInput): JsonObject {
  const { hostNamespaces, hostRoot } = access[flags.profile];
  const container = debugContainer(nodeDebugger, words, flags);
  // As kubectl: on a node only `sysadmin` may trace processes.
  if (flags.profile === 'general') delete container.securityContext;
  const mounted = { ...container, volumeMounts: [{ name: 'host-root', mountPath: '/host' }] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      ...(hostNamespaces && { hostNetwork: true, hostPID: true, hostIPC: true }),
      containers: [hostRoot ? mounted : container],
      ...(hostRoot && { volumes: [{ name: 'host-root', hostPath: { path: '/' } }] }),
    },
  };
}

/** The longest name of an object. */
const longestName = 253;

/** The name of a pod for looking into a node. `random` gives numbers from 0 to below 1. */
export function nodePodName(node: string, random: () => number): string {
  const suffix = `-${nameSuffix(random)}`;
  return `node-debugger-${node}`.slice(0, longestName - suffix.length).replace(/[.-]+$/, '') + suffix;
}
