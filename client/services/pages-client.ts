import type { GetPageResponse } from '../../api/generated/types.ts';
import type { Connection } from '../connection/connection.ts';
import type { CallOptions } from './resource-client.ts';

/** A page of the server. */
export interface ServerPage {
  /** As HTTP has it: 200, or 500 when a check of health has failed. */
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

/** What Kubernetes' API server serves as pages over HTTP. */
export interface PagesClient {
  /** "/healthz", "/livez", "/readyz?verbose", "/metrics". NOT_FOUND names those that there are. */
  get(path: string, call?: CallOptions): Promise<ServerPage>;
}

const method = {
  path: '/berth.server.v1.Pages/Get',
  request: 'berth.server.v1.GetPageRequest',
  response: 'berth.server.v1.GetPageResponse',
};

export function createPagesClient(connection: Connection): PagesClient {
  return {
    async get(path, call) {
      const { status = 0, contentType = '', body } = await connection.unary<GetPageResponse>(method, { path }, call);
      return { status, contentType, body: Buffer.from(body ?? '') };
    },
  };
}
