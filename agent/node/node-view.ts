import type { Node } from '../../api/generated/types.ts';
import type { ResourceClient } from '../../client/services/resource-client.ts';

/** The agent's own Node as the API has it. */
export interface NodeView {
  /** As it was in the last answer; undefined before the first. */
  last(): Node | undefined;
  /** As it is now. Throws ApiError. */
  read(): Promise<Node>;
  /** For the writer of the node: every answer is kept. */
  readonly client: Pick<ResourceClient<Node>, 'get' | 'create' | 'patch'>;
}

export function createNodeView(nodes: Pick<ResourceClient<Node>, 'get' | 'create' | 'patch'>, name: string): NodeView {
  let last: Node | undefined;
  const keep = async (answer: Promise<Node>): Promise<Node> => {
    last = await answer;
    return last;
  };
  const get: NodeView['client']['get'] = (key, options) => keep(nodes.get(key, options));
  return {
    last: () => last,
    read: () => get({ name }),
    client: {
      get,
      create: (object, options) => keep(nodes.create(object, options)),
      patch: (key, patch, options) => keep(nodes.patch(key, patch, options)),
    },
  };
}
