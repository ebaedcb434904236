import { duplicate, forbidden, invalidValue, notFoundValue, required } from '../../errors/violations.ts';
import type { Container, ContainerPort, PodSpec, VolumeMount } from '../../generated/types.ts';
import { labelNameError, portNameError } from '../../meta/names.ts';
import {
  checkIp,
  checkNoBacksteps,
  checkOneOf,
  checkPort,
  checkRange,
  checkRelativePath,
  checkRequired,
  checkRule,
  type Violations,
} from '../checks.ts';
import { checkEnv, checkEnvFrom } from './validate-env.ts';
import { checkLifecycle, checkProbe, type ProbeName } from './validate-handlers.ts';
import { checkResources } from './validate-resources.ts';
import { checkContainerSecurity } from './validate-security.ts';

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const MESSAGE_POLICIES = ['File', 'FallbackToLogsOnError'];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];
const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const PROPAGATIONS = ['None', 'HostToContainer', 'Bidirectional'];
const RECURSIVE_READ_ONLY = ['Disabled', 'IfPossible', 'Enabled'];
const PROBES: readonly ProbeName[] = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/** All containers of a pod: each on its own, names unique among all, host ports among those that run together. */
export function checkContainers(out: Violations, spec: PodSpec): void {
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  const containers = spec.containers ?? [];
  if (containers.length === 0) out.push(required('spec.containers', 'a pod has at least one'));
  for (let i = 0; i < containers.length; i++) {
    checkContainer(out, `spec.containers[${i}]`, containers[i]!, spec, names);
    checkHostPorts(out, `spec.containers[${i}]`, containers[i]!, hostPorts);
  }
  spec.initContainers?.forEach((container, i) => {
    const at = `spec.initContainers[${i}]`;
    checkContainer(out, at, container, spec, names);
    if (container.restartPolicy === 'Always') checkHostPorts(out, at, container, hostPorts);
    else checkPlainInit(out, at, container);
  });
  spec.ephemeralContainers?.forEach((each, i) => {
    const { ephemeralContainerCommon = {}, targetContainerName } = each;
    const at = `spec.ephemeralContainers[${i}]`;
    checkContainer(out, at, ephemeralContainerCommon, spec, names);
    const targets = [...containers, ...(spec.initContainers ?? [])];
    if (targetContainerName && !targets.some(({ name }) => name === targetContainerName))
      out.push(notFoundValue(`${at}.targetContainerName`, targetContainerName));
  });
}

/** What ends before the containers start cannot be probed or hooked. */
function checkPlainInit(out: Violations, at: string, container: Container): void {
  for (const name of ['lifecycle', 'resizePolicy', ...PROBES] as const) {
    if (container[name]) out.push(forbidden(`${at}.${name}`, 'only init containers with restartPolicy Always have one'));
  }
}

function checkContainer(out: Violations, at: string, container: Container, spec: PodSpec, names: Set<string>): void {
  const { name = '', image = '' } = container;
  if (name === '') out.push(required(`${at}.name`));
  else checkRule(out, at, '.name', name, labelNameError(name));
  if (name !== '' && names.has(name)) out.push(duplicate(`${at}.name`, name));
  names.add(name);
  if (image === '') out.push(required(`${at}.image`));
  else if (image.trim() !== image) out.push(invalidValue(`${at}.image`, image, 'must not start or end with white space'));
  checkOneOf(out, at, '.imagePullPolicy', container.imagePullPolicy, PULL_POLICIES);
  checkOneOf(out, at, '.terminationMessagePolicy', container.terminationMessagePolicy, MESSAGE_POLICIES);
  checkRestartPolicy(out, at, container);
  if (container.ports) checkPorts(out, at, container.ports, spec.hostNetwork === true);
  checkEnv(out, at, container.env);
  checkEnvFrom(out, at, container.envFrom);
  if (container.volumeMounts) checkMounts(out, at, container, spec);
  checkDevices(out, at, container, spec);
  checkResources(out, `${at}.resources`, container.resources, spec);
  checkResizePolicy(out, at, container, container.restartPolicy || spec.restartPolicy);
  for (const probe of PROBES) if (container[probe]) checkProbe(out, `${at}.${probe}`, probe, container[probe]);
  if (container.lifecycle) checkLifecycle(out, `${at}.lifecycle`, container.lifecycle, spec);
  checkContainerSecurity(out, `${at}.securityContext`, container.securityContext, spec);
}

function checkRestartPolicy(out: Violations, at: string, { restartPolicy, restartPolicyRules = [] }: Container): void {
  checkOneOf(out, at, '.restartPolicy', restartPolicy, RESTART_POLICIES);
  if (restartPolicyRules.length > 0 && !restartPolicy)
    out.push(required(`${at}.restartPolicy`, 'rules need a policy for the exit codes that none of them names'));
  if (restartPolicyRules.length > RULES_MAX)
    out.push(invalidValue(`${at}.restartPolicyRules`, restartPolicyRules.length, `must be at most ${RULES_MAX}`));
  restartPolicyRules.forEach(({ action, exitCodes }, i) => {
    const rule = `${at}.restartPolicyRules[${i}]`;
    checkOneOf(out, rule, '.action', action || ' ', ['Restart', 'RestartAllContainers']);
    if (!exitCodes) out.push(required(`${rule}.exitCodes`));
    else checkOneOf(out, rule, '.exitCodes.operator', exitCodes.operator || ' ', ['In', 'NotIn']);
    const codes = exitCodes?.values ?? [];
    if (codes.length > EXIT_CODES_MAX)
      out.push(invalidValue(`${rule}.exitCodes.values`, codes.length, `must be at most ${EXIT_CODES_MAX}`));
    codes.forEach((code, j) => {
      checkRange(out, rule, `.exitCodes.values[${j}]`, code, 0, 255);
    });
  });
}

function checkPorts(out: Violations, at: string, ports: readonly ContainerPort[], hostNetwork: boolean): void {
  const seen = new Set<string>();
  ports.forEach((port, i) => {
    const item = `${at}.ports[${i}]`;
    const { name = '', containerPort = 0, hostPort = 0 } = port;
    if (name !== '') {
      checkRule(out, item, '.name', name, portNameError(name));
      if (seen.has(name)) out.push(duplicate(`${item}.name`, name));
      seen.add(name);
    }
    if (containerPort === 0) out.push(required(`${item}.containerPort`));
    else checkPort(out, item, '.containerPort', containerPort);
    checkRange(out, item, '.hostPort', hostPort, 0, 65535);
    // Absent in templates: the pods get it.
    if (hostNetwork && hostPort !== 0 && hostPort !== containerPort) {
      out.push(invalidValue(`${item}.containerPort`, containerPort, 'must be the same as hostPort in a pod with hostNetwork'));
    }
    checkOneOf(out, item, '.protocol', port.protocol, PROTOCOLS);
    checkIp(out, item, '.hostIP', port.hostIP);
  });
}

/** A port of the machine can be given away once. */
function checkHostPorts(out: Violations, at: string, { ports }: Container, seen: Set<string>): void {
  ports?.forEach(({ hostPort = 0, protocol = 'TCP', hostIP = '' }, i) => {
    if (hostPort === 0) return;
    const key = `${protocol}/${hostIP}/${hostPort}`;
    if (seen.has(key)) out.push(duplicate(`${at}.ports[${i}].hostPort`, hostPort));
    seen.add(key);
  });
}

function checkMounts(out: Violations, at: string, container: Container, spec: PodSpec): void {
  const paths = new Set<string>();
  container.volumeMounts?.forEach((mount, i) => {
    const item = `${at}.volumeMounts[${i}]`;
    const { name = '', mountPath = '' } = mount;
    if (name === '') out.push(required(`${item}.name`));
    else if (!spec.volumes?.some((volume) => volume.name === name)) {
      out.push(invalidValue(`${item}.name`, name, 'must be the name of one of spec.volumes'));
    }
    if (mountPath === '') out.push(required(`${item}.mountPath`));
    else if (mountPath.includes(':')) out.push(invalidValue(`${item}.mountPath`, mountPath, 'must not contain ":"'));
    if (mountPath !== '' && paths.has(mountPath)) out.push(duplicate(`${item}.mountPath`, mountPath));
    paths.add(mountPath);
    checkMountOptions(out, item, mount, container);
  });
}

function checkMountOptions(out: Violations, at: string, mount: VolumeMount, { securityContext }: Container): void {
  const { subPath, subPathExpr, mountPropagation, recursiveReadOnly, readOnly } = mount;
  if (subPath) checkRelativePath(out, at, '.subPath', subPath);
  if (subPathExpr) checkRelativePath(out, at, '.subPathExpr', subPathExpr);
  if (subPath && subPathExpr) out.push(invalidValue(`${at}.subPathExpr`, subPathExpr, 'may not be set together with subPath'));
  checkOneOf(out, at, '.mountPropagation', mountPropagation, PROPAGATIONS);
  if (mountPropagation === 'Bidirectional' && !securityContext?.privileged) {
    out.push(forbidden(`${at}.mountPropagation`, 'Bidirectional needs a privileged container'));
  }
  checkOneOf(out, at, '.recursiveReadOnly', recursiveReadOnly, RECURSIVE_READ_ONLY);
  if (recursiveReadOnly && recursiveReadOnly !== 'Disabled' && !readOnly) {
    out.push(forbidden(`${at}.recursiveReadOnly`, 'needs readOnly'));
  }
  const isRecursive = recursiveReadOnly === 'Enabled' || recursiveReadOnly === 'IfPossible';
  if (isRecursive && mountPropagation && mountPropagation !== 'None')
    out.push(forbidden(`${at}.recursiveReadOnly`, 'needs mountPropagation None'));
}

function checkDevices(out: Violations, at: string, { volumeDevices }: Container, spec: PodSpec): void {
  if (!volumeDevices) return;
  const paths = new Set<string>();
  volumeDevices.forEach(({ name = '', devicePath = '' }, i) => {
    const item = `${at}.volumeDevices[${i}]`;
    const volume = spec.volumes?.find((each) => each.name === name);
    if (!volume) out.push(invalidValue(`${item}.name`, name, 'must be the name of one of spec.volumes'));
    checkRequired(out, item, '.devicePath', devicePath);
    checkNoBacksteps(out, item, '.devicePath', devicePath);
    if (devicePath !== '' && paths.has(devicePath)) out.push(duplicate(`${item}.devicePath`, devicePath));
    paths.add(devicePath);
  });
}

function checkResizePolicy(out: Violations, at: string, { resizePolicy }: Container, restarts: string | undefined): void {
  if (!resizePolicy) return;
  const seen = new Set<string>();
  resizePolicy.forEach(({ resourceName = '', restartPolicy }, i) => {
    const item = `${at}.resizePolicy[${i}]`;
    checkOneOf(out, item, '.resourceName', resourceName || ' ', ['cpu', 'memory']);
    checkOneOf(out, item, '.restartPolicy', restartPolicy || ' ', ['NotRequired', 'RestartContainer']);
    if (restartPolicy === 'RestartContainer' && restarts === 'Never')
      out.push(invalidValue(`${item}.restartPolicy`, restartPolicy, 'must be NotRequired when restartPolicy is Never'));
    if (seen.has(resourceName)) out.push(duplicate(`${item}.resourceName`, resourceName));
    seen.add(resourceName);
  });
}
