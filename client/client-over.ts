import type { KindMap, KindName } from '../api/kinds/index.ts';
import { kindOf } from '../api/kinds/index.ts';
import type { ApiObject, Kind } from '../api/kinds/kind.ts';
import type { Client, ConnectOptions } from './client.ts';
import type { Connection } from './connection/connection.ts';
import { createBackupClient } from './services/backup-client.ts';
import { createBulkWriter } from './services/bulk-writer.ts';
import { createCertificatesClient } from './services/certificates-client.ts';
import { createExtensionsClient } from './services/extensions-client.ts';
import { createKindClients, createStandardClient } from './services/kind-clients.ts';
import { createLogLevelsClient } from './services/log-levels-client.ts';
import { createNetChecksClient } from './services/net-checks-client.ts';
import { createObjectsClient } from './services/objects-client.ts';
import { createPagesClient } from './services/pages-client.ts';
import { createPlacementsClient } from './services/placements-client.ts';
import type { ResourceClient, ScalableClient, ScalableKind } from './services/resource-client.ts';
import { createReviewsClient } from './services/reviews-client.ts';
import { createSecretKeysClient } from './services/secret-keys-client.ts';
import { createTunnelClient } from './services/tunnel-client.ts';
import { createUsageHistoriesClient } from './services/usage-histories-client.ts';

/** A client over a connection, which ends with it. */
export function clientOver(connection: Connection, { onWarning }: Pick<ConnectOptions, 'onWarning'>): Client {
  function resource<K extends KindName>(kind: K): ResourceClient<KindMap[K]>;
  function resource<T extends ApiObject>(kind: ScalableKind<T>): ScalableClient<T>;
  function resource<T extends ApiObject>(kind: Kind<T>): ResourceClient<T>;
  function resource(kind: KindName | Kind): ResourceClient<ApiObject> {
    return createStandardClient(connection, typeof kind === 'string' ? known(kind) : kind);
  }

  return {
    ...createKindClients(connection),
    resource,
    objects: createObjectsClient(connection),
    logLevels: createLogLevelsClient(connection),
    reviews: createReviewsClient(connection),
    usageHistories: createUsageHistoriesClient(connection),
    netChecks: createNetChecksClient(connection),
    placements: createPlacementsClient(connection),
    bulkWriter: (writerOptions = {}) => createBulkWriter({ connection, kindNamed: known, onWarning }, writerOptions),
    tunnel: createTunnelClient(connection),
    backups: createBackupClient(connection),
    certificates: createCertificatesClient(connection),
    extensions: createExtensionsClient(connection),
    pages: createPagesClient(connection),
    secretKeys: createSecretKeysClient(connection),
    close: () => connection.close(),
  };
}

function known(name: KindName): Kind {
  const kind = kindOf(name);
  if (!kind) throw new RangeError(`use kind "${name}": api/kinds does not list it`);
  return kind;
}
