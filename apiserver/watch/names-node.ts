import { WireReader } from '../../api/codec/wire-reader.ts';

const SPEC = 2;
const NODE_NAME = 10;

/**
 * Whether an encoded pod names a node, without decoding it: when many pods are created, most of what the cache tells is
 * of unbound ones, and an observer that decodes them all makes a tenth of a create's garbage.
 */
export function namesNode(bytes: Uint8Array): boolean {
  const pod = new WireReader(bytes);
  while (pod.next()) {
    if (pod.number !== SPEC) continue;
    const spec = pod.inner();
    while (spec.next()) if (spec.number === NODE_NAME) return true;
  }
  return false;
}
