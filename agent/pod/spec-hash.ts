import { createHash } from 'node:crypto';
import type { Container } from '../../api/generated/types.ts';

/**
 * What of a container's spec makes it another container. Only the image of a bound pod's container can change, so
 * nothing else goes in: a default that a later version adds must not restart what runs.
 */
export function specHash(container: Container): string {
  return createHash('sha256')
    .update(JSON.stringify([container.name ?? '', container.image ?? '']))
    .digest('hex')
    .slice(0, 16);
}
