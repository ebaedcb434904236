import { createHash } from 'node:crypto';

/** Addresses for pods, each given once at a time. */
export interface AddressPool {
  /** Throws an Error when all are given. */
  take(): string;
  giveBack(address: string): void;
}

/** 10.64.0.0/10: four million addresses. */
const first = 10 * 2 ** 24 + 64 * 2 ** 16;
const most = 2 ** 22;

/** A pool for all hollow nodes of a process; those of another seed begin elsewhere, and hardly ever meet. */
export function createAddressPool(seed: string, size = most): AddressPool {
  const taken = new Set<number>();
  let next = createHash('sha256').update(seed).digest().readUInt32BE() % size;
  return {
    take() {
      if (taken.size >= size) throw new Error(`all ${size} addresses of hollow pods are taken`);
      while (taken.has(next)) next = (next + 1) % size;
      const given = next;
      taken.add(given);
      // Not reused at once: a client of the pod that had it would take the new pod for that one.
      next = (next + 1) % size;
      return formatAddress(first + given);
    },
    giveBack: (address) => void taken.delete(parseAddress(address) - first),
  };
}

export function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}

function parseAddress(text: string): number {
  return text.split('.').reduce((value, part) => value * 256 + Number(part), 0);
}
