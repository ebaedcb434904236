import { definePlugin, proceed, skip, unresolvable } from '../framework/plugin.ts';

const otherNode = unresolvable("node(s) didn't match the requested node name", ['node/added']);

/** Keeps a pod that names its node off every other. (Such a pod rarely comes here: naming a node is binding.) */
export const nodeName = definePlugin<string>({
  name: 'NodeName',
  prepare({ pod }) {
    const name = pod.pod.spec?.nodeName;
    return name ? proceed(name, { score: false, shape: name }) : skip;
  },
  filter: (name, nodes, row) => (nodes.names[row] === name ? undefined : otherNode),
  explain: (name, nodes, row) => `the pod asks for node "${name}", this is "${nodes.names[row]}"`,
  helps: (pod, event) => event.kind === 'node/added' && event.node.metadata?.name === pod.pod.spec?.nodeName,
});
