import { badRequest } from '../../api/errors/index.ts';
import type { PodPortForwardOptions } from '../../api/generated/types.ts';
import type { TunnelStream } from '../../client/client.ts';
import type { PodConnection, PodDialer } from '../machine/pod-dialer.ts';
import { observe, readySandbox } from '../pod/observation.ts';
import { asBuffer } from './serve-terminal.ts';
import type { StreamRequest } from './stream-request.ts';

/**
 * Joins the user's connection with one to a port of the pod, each direction with its own end.
 * Throws ApiError or RuntimeError.
 */
export async function servePortForward(
  { record, signal }: Omit<StreamRequest, 'access'>,
  options: PodPortForwardOptions,
  stream: TunnelStream,
  dialer: PodDialer,
): Promise<void> {
  const name = record.pod?.metadata?.name ?? '';
  const sandbox = readySandbox(observe(record.containers.values()));
  if (sandbox === undefined) throw badRequest(`pod "${name}" is not running`);
  const { pid, ip } = sandbox;
  const at = { podUid: record.uid, podName: name, hostNetwork: record.pod?.spec?.hostNetwork === true, pid, ip };
  const connection = await dialer.dial(at, options.ports?.[0] ?? 0, signal);
  try {
    // When the pod closes its side the user's may still send; a pod that has gone ends both.
    const sending = forwardInput(connection, stream);
    sending.catch(() => {});
    for await (const data of connection.output()) await stream.write({ portForward: { data: asBuffer(data) } });
    await stream.write({ portForward: { dataEnd: {} } });
    await Promise.race([sending, connection.closed]);
  } finally {
    connection.close();
  }
}

async function forwardInput(connection: PodConnection, stream: TunnelStream): Promise<void> {
  for await (const { data, dataEnd } of stream.input('portForward')) {
    if (data && data.length > 0) await connection.write(data);
    if (dataEnd) return connection.end();
  }
}
