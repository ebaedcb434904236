import { forbidden, invalidValue, required } from '../../errors/violations.ts';
import type {
  HTTPGetAction,
  IntOrString,
  Lifecycle,
  LifecycleHandler,
  PodSpec,
  Probe,
  ProbeHandler,
  TCPSocketAction,
} from '../../generated/types.ts';
import { portNameError } from '../../meta/names.ts';
import { longestSeconds } from '../../meta/time.ts';
import { checkExactlyOne, checkOneOf, checkPort, checkRange, checkRequired, checkRule, type Violations } from '../checks.ts';

const SCHEMES = ['HTTP', 'HTTPS'];
const HEADER_NAME = /^[-A-Za-z0-9!#$%&'*+.^_`|~]+$/;
const PLAIN_SIGNALS = [
  ...[
    'ABRT',
    'ALRM',
    'BUS',
    'CHLD',
    'CLD',
    'CONT',
    'FPE',
    'HUP',
    'ILL',
    'INT',
    'IO',
    'IOT',
    'KILL',
    'PIPE',
    'POLL',
    'PROF',
    'PWR',
  ],
  ...['QUIT', 'SEGV', 'STKFLT', 'STOP', 'SYS', 'TERM', 'TRAP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'USR1', 'USR2', 'VTALRM', 'WINCH'],
  ...['XCPU', 'XFSZ', 'RTMIN', 'RTMAX'],
];
const STOP_SIGNALS = new Set([
  ...PLAIN_SIGNALS.map((name) => `SIG${name}`),
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${i + 1}`),
]);

export type ProbeName = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

/** A probe's action, counts, and what only some probes may have. */
export function checkProbe(out: Violations, at: string, name: ProbeName, probe: Probe): void {
  checkExactlyOne(out, at, probe.handler, 'one of exec, httpGet, tcpSocket, grpc');
  if (probe.handler) checkActions(out, at, probe.handler);
  checkRange(out, at, '.initialDelaySeconds', probe.initialDelaySeconds, 0);
  for (const field of ['timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const) {
    checkRange(out, at, `.${field}`, probe[field], 1);
  }
  const { successThreshold, terminationGracePeriodSeconds: grace } = probe;
  if (name !== 'readinessProbe' && successThreshold !== undefined && successThreshold > 1) {
    out.push(invalidValue(`${at}.successThreshold`, successThreshold, `must be 1 in a ${name}`));
  }
  if (name === 'readinessProbe' && grace !== undefined) {
    out.push(forbidden(`${at}.terminationGracePeriodSeconds`, 'a readiness probe stops nothing'));
  } else checkRange(out, at, '.terminationGracePeriodSeconds', grace, 1, longestSeconds);
}

/** What a container does after it starts and before it stops. */
export function checkLifecycle(out: Violations, at: string, lifecycle: Lifecycle, spec: PodSpec): void {
  const graceSeconds = spec.terminationGracePeriodSeconds ?? 30;
  const { postStart, preStop, stopSignal } = lifecycle;
  if (postStart) checkHook(out, `${at}.postStart`, postStart, graceSeconds);
  if (preStop) checkHook(out, `${at}.preStop`, preStop, graceSeconds);
  if (stopSignal === undefined) return;
  if (!STOP_SIGNALS.has(stopSignal))
    out.push(invalidValue(`${at}.stopSignal`, stopSignal, 'must be the name of a signal such as "SIGTERM"'));
  else if (!spec.os?.name)
    out.push(invalidValue(`${at}.stopSignal`, stopSignal, 'needs spec.os.name, since signals differ between systems'));
}

function checkHook(out: Violations, at: string, handler: LifecycleHandler, graceSeconds: number): void {
  checkExactlyOne(out, at, handler, 'one of exec, httpGet, tcpSocket, sleep');
  checkActions(out, at, handler);
  if (handler.sleep) checkRange(out, at, '.sleep.seconds', handler.sleep.seconds ?? 0, 0, graceSeconds);
}

/** The actions that probes and hooks share, and a probe's grpc. */
function checkActions(out: Violations, at: string, handler: ProbeHandler & LifecycleHandler): void {
  if (handler.exec && !handler.exec.command?.length) out.push(required(`${at}.exec.command`));
  if (handler.httpGet) checkHttpGet(out, `${at}.httpGet`, handler.httpGet);
  if (handler.tcpSocket) checkTarget(out, `${at}.tcpSocket`, handler.tcpSocket);
  if (handler.grpc) checkPort(out, at, '.grpc.port', handler.grpc.port ?? 0);
}

function checkHttpGet(out: Violations, at: string, action: HTTPGetAction): void {
  checkRequired(out, at, '.path', action.path);
  checkTarget(out, at, action);
  checkOneOf(out, at, '.scheme', action.scheme, SCHEMES);
  action.httpHeaders?.forEach(({ name = '' }, i) => {
    if (!HEADER_NAME.test(name))
      out.push(invalidValue(`${at}.httpHeaders[${i}].name`, name, 'must be the name of an HTTP header'));
  });
}

function checkTarget(out: Violations, at: string, { port }: Pick<TCPSocketAction, 'port'>): void {
  if (!port) out.push(required(`${at}.port`));
  else checkPortReference(out, at, port);
}

function checkPortReference(out: Violations, at: string, port: IntOrString): void {
  if (port.type === 1) checkRule(out, at, '.port', port.strVal, portNameError(port.strVal ?? ''));
  else checkPort(out, at, '.port', port.intVal ?? 0);
}
