/** What Berth makes in a data directory. Anything else in there is somebody else's, and stays. */
export const ownEntries: readonly string[] = ['installation.json', 'logs', 'node', 'pki', 'run', 'store'];

/** In the folder of each node: that an agent made it. */
export const nodeMarker = 'berth-node';
