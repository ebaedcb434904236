/** What Berth makes in a data directory. Anything else in there is somebody else's, and stays. */
export const ownEntries: readonly string[] = ['installation.json', 'logs', 'node', 'pki', 'run', 'store'];
