import type { WriteContext } from './write-context.ts';

/** The server's own identity as a writer. */
export const serverContext: WriteContext = { user: 'system:apiserver', manager: 'apiserver', dryRun: false, exceedsLimits: true };
