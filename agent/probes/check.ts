import type { Container, ExecAction, GRPCAction, IntOrString, Pod, ProbeHandler } from '../../api/generated/types.ts';
import type { CommandRunner } from '../runtime/runtime.ts';
import { checkGrpc } from './check-grpc.ts';
import { checkHttp } from './check-http.ts';
import { type CheckResult, failure, maxOutputBytes, problem, success } from './check-result.ts';
import { checkTcp } from './check-tcp.ts';

/** What is looked at. */
export interface CheckTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  /** The pod's address; the machine's for a pod in its network. */
  readonly podIP: string;
}

export type Check = (handler: ProbeHandler, target: CheckTarget, timeoutMs: number, signal: AbortSignal) => Promise<CheckResult>;

/** The four kinds of looking at a container. The check itself never throws. */
export function createCheck(commands: CommandRunner): Check {
  const look: Check = async ({ exec, httpGet, tcpSocket, grpc }, target, timeoutMs, signal) => {
    const { podIP, container } = target;
    if (exec !== undefined) return checkExec(commands, exec, target, timeoutMs, signal);
    const port = portOf(grpc ?? httpGet ?? tcpSocket ?? {}, container);
    if (typeof port !== 'number') return problem(port.problem);
    const host = (httpGet ?? tcpSocket)?.host || podIP;
    // Without a host the machine itself would be asked.
    if (host === '') return problem('the pod has no address');
    if (httpGet !== undefined) return checkHttp(httpGet, { host, port }, timeoutMs, signal);
    if (tcpSocket !== undefined) return checkTcp({ host, port }, timeoutMs, signal);
    return checkGrpc(grpc?.service ?? '', { host, port }, timeoutMs, signal);
  };
  return async (handler, target, timeoutMs, signal) => {
    try {
      return await look(handler, target, timeoutMs, signal);
    } catch (error) {
      // The engine is away; a host that is none; whatever else libraries refuse to do: it must not end the agent.
      return problem(error instanceof Error ? error.message : String(error));
    }
  };
}

async function checkExec(
  commands: CommandRunner,
  { command = [] }: ExecAction,
  { containerId }: CheckTarget,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const result = await commands.run(containerId, command, { timeoutMs, maxBytes: maxOutputBytes }, signal);
  if (result.type === 'timed-out')
    return failure(`command timed out: ${JSON.stringify(command.join(' '))} timed out after ${timeoutMs / 1000}s`);
  return result.type === 'succeeded' ? success : failure(result.output);
}

interface Port {
  readonly port?: IntOrString | GRPCAction['port'];
}

/** A port by number, or by the name that it has in the container. */
export function portOf({ port }: Port, container: Container): number | { readonly problem: string } {
  if (typeof port === 'number') return port;
  if (port?.type !== 1) return port?.intVal ?? 0;
  const named = container.ports?.find(({ name }) => name === port.strVal);
  if (named?.containerPort !== undefined) return named.containerPort;
  return { problem: `container "${container.name}" has no port with the name "${port.strVal}"` };
}
