import type { PodClient } from '../../client/index.ts';
import { definePlugin, type Plugin } from '../framework/plugin.ts';

/** Writes the placement through the pod's binding subresource, for this very pod (by uid) and no later one of its name. Never passes. */
export function defaultBinder(pods: Pick<PodClient, 'bind'>): Plugin {
  return definePlugin({
    name: 'DefaultBinder',
    async bind({ pod, nodeName }, signal) {
      const { namespace, name = '' } = pod.pod.metadata ?? {};
      await pods.bind({ namespace, name, uid: pod.uid }, nodeName, { signal });
      return 'bound';
    },
  });
}
