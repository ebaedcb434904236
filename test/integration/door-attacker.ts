import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { formatMetrics, type MetricsRegistry } from '../../api/metrics/index.ts';
import type { RunningServer } from './apiserver-harness.ts';
import { type Attacker, attackTls } from './attacker.ts';

/** What attacks on the HTTP door share. */
export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>> | readonly string[];
  readonly body?: string | Buffer;
  readonly anonymous?: true;
}

export interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** One request of the administrator on a connection of its own. */
export async function askDoor(server: RunningServer, path: string, asked: Asked = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, anonymous } = asked;
  const [host, port] = server.info.kubernetes!.split(':');
  const { ca, cert, key } = server.admin;
  const certificate = anonymous ? {} : { cert, key };
  const call = request({ host, port, path, method, ca, agent: false, headers: headers as string[], ...certificate });
  call.end(body);
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { code: response.statusCode!, headers: response.headers, text: Buffer.concat(pieces).toString('utf8') };
}

/** A connection of HTTP/1.1 with the administrator's certificate, on which nothing has to be right. */
export async function attackHttp1(server: RunningServer, { anonymous = false, allowHalfOpen = false } = {}): Promise<Attacker> {
  const { cert, key } = server.admin;
  const certificate = anonymous ? {} : { cert, key };
  return attackTls(server.info.kubernetes!, { ...certificate, ALPNProtocols: ['http/1.1'], allowHalfOpen } as object);
}

/** The sum of the samples of a metric whose line begins so. */
export function sumOf(metrics: MetricsRegistry, start: string): number {
  return formatMetrics(metrics, 'prometheus')
    .split('\n')
    .filter((line) => line.startsWith(start))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** What callers are charged at this moment. */
export const charged = (metrics: MetricsRegistry): Readonly<Record<string, number>> => ({
  streams: sumOf(metrics, 'apiserver_longrunning_requests'),
  calls: sumOf(metrics, 'apiserver_current_inflight_requests'),
  answers: sumOf(metrics, 'berth_apiserver_answer_bytes'),
  lists: sumOf(metrics, 'berth_apiserver_list_bytes'),
  anonymous: sumOf(metrics, 'berth_apiserver_anonymous_calls'),
});

export const nothing = { streams: 0, calls: 0, answers: 0, lists: 0, anonymous: 0 };
