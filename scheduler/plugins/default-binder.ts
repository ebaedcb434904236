import type { BindStream } from '../../client/index.ts';
import { definePlugin, type Plugin } from '../framework/plugin.ts';

/**
 * Writes the placement through the pod's binding subresource, for this very pod (by uid) and no later one of its name;
 * the bindings of a moment travel together. Never passes.
 */
export function defaultBinder(bindings: Pick<BindStream, 'bind'>): Plugin {
  return definePlugin({
    name: 'DefaultBinder',
    async bind({ pod, nodeName }, signal) {
      const { namespace, name = '' } = pod.pod.metadata ?? {};
      await bindings.bind({ namespace, name, uid: pod.uid }, nodeName, { signal });
      return 'bound';
    },
  });
}
