/** What Berth makes in a data directory. Other files in there are not ours, and stay. */
export const ownEntries: readonly string[] = [
  'installation.json',
  'logs',
  'node',
  'pki',
  'run',
  'secret-keys',
  'service.json',
  'store',
];

/** What people put there for Berth to read; it stays when Berth goes. */
export const givenEntries: readonly string[] = ['node.yaml', 'seccomp'];

/** A store that `berth restore --force` moved aside. */
export function isStoreAside(name: string): boolean {
  return name.startsWith('store.before-restore-');
}

/** In the folder of each node: that an agent made it. */
export const nodeMarker = 'berth-node';
