import type { WriteContext } from './kind-store.ts';

/** Who the server writes as. */
export const serverContext: WriteContext = { user: 'system:apiserver', manager: 'apiserver', dryRun: false, exceedsLimits: true };
