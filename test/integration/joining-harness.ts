import { type BootstrapToken, bootstrapTokenSecret } from '../../api/kinds/secret/bootstrap-token.ts';
import { type Client, type ConnectOptions, connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';
import { startControllers } from './controllers-harness.ts';

/** A token for joining, as `berth token create` makes it. */
export const joinToken: BootstrapToken = {
  id: 'abcdef',
  secret: '0123456789abcdef',
  expiresAt: undefined,
  description: '',
  authenticates: true,
};
export const joinTokenText = `${joinToken.id}.${joinToken.secret}`;

export interface JoinableServer {
  readonly server: RunningServer;
  /** A client with these credentials; closed at the end. */
  reach(credentials: Partial<ConnectOptions>): Client;
  stop(): Promise<void>;
}

/** A server with its controllers, and a token with which machines may join. */
export async function startJoinableServer(): Promise<JoinableServer> {
  const server = await startServer();
  const stopControllers = await startControllers(server);
  await server.client.secrets.create(bootstrapTokenSecret(joinToken));
  const open: Client[] = [];
  return {
    server,
    reach(credentials) {
      const made = connect({ address: server.info.address, ca: server.info.ca, ...credentials });
      open.push(made);
      return made;
    },
    async stop() {
      for (const client of open) client.close();
      await stopControllers();
      await server.stop();
      await server.remove();
    },
  };
}
