import { type FieldSupport, type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

/** Refused in new pods only: those that are stored with it go on. */
export const podLevelLimits = 'spec.resources.limits';
const onlyLinux = refused('every node runs Linux');
const noDriver = refused('no node has a driver for this kind of volume');
const mountItYourself = refused('Berth has no driver for this storage; mount it on the nodes and use hostPath');
const noTcpHook = 'Kubernetes has the field but no such hook, so that it would fail each time; use exec or httpGet';

const scheduling = {
  'spec.nodeName': works,
  'spec.nodeSelector': works,
  'spec.schedulerName': works,
  'spec.affinity.nodeAffinity': works,
  'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[]': works,
  'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[]': works,
  'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[]': works,
  'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[]': works,
  'spec.tolerations[]': works,
  'spec.topologySpreadConstraints[]': works,
  'spec.priorityClassName': works,
  'spec.priority': works,
  'spec.preemptionPolicy': works,
  'spec.schedulingGates[]': works,
  'spec.schedulingGroup': refused('pods are scheduled one by one; the group would not start together'),
  'spec.resourceClaims[]': refused('devices cannot be claimed; no node offers any'),
  'spec.overhead': works,
  'spec.resources.requests': warned('the pod is scheduled by it, but what its containers get follows from their own requests'),
  'spec.resources.claims[]': refused('devices cannot be claimed; no node offers any'),
  [podLevelLimits]: refused('no node enforces the limits of a pod as a whole; set them in spec.containers[].resources.limits'),
} satisfies FieldSupportTable;

const lifecycle = {
  'spec.restartPolicy': works,
  'spec.terminationGracePeriodSeconds': works,
  'spec.activeDeadlineSeconds': works,
  'spec.readinessGates[]': works,
  'spec.runtimeClassName': works,
  'spec.os.name': refused('every node runs Linux', '', 'linux'),
} satisfies FieldSupportTable;

const identity = {
  'spec.serviceAccountName': works,
  'spec.serviceAccount': works,
  // Absent means no here, and yes in Kubernetes: see docs/security.md.
  'spec.automountServiceAccountToken': works,
  'spec.imagePullSecrets[]': works,
} satisfies FieldSupportTable;

const network = {
  'spec.hostNetwork': works,
  'spec.hostname': works,
  'spec.subdomain': works,
  'spec.setHostnameAsFQDN': works,
  'spec.hostnameOverride': works,
  'spec.hostAliases[]': works,
  'spec.dnsPolicy': works,
  'spec.dnsConfig': works,
  'spec.enableServiceLinks': works,
} satisfies FieldSupportTable;

const isolation = {
  'spec.hostPID': works,
  'spec.hostIPC': works,
  'spec.shareProcessNamespace': works,
  'spec.hostUsers': works,
  'spec.securityContext.runAsUser': works,
  'spec.securityContext.runAsGroup': works,
  'spec.securityContext.runAsNonRoot': works,
  'spec.securityContext.supplementalGroups[]': works,
  'spec.securityContext.supplementalGroupsPolicy': works,
  'spec.securityContext.fsGroup': works,
  'spec.securityContext.fsGroupChangePolicy': works,
  'spec.securityContext.sysctls[]': works,
  'spec.securityContext.seLinuxOptions': works,
  'spec.securityContext.seLinuxChangePolicy': warned('volumes are not relabelled'),
  'spec.securityContext.seccompProfile.type': works,
  'spec.securityContext.seccompProfile.localhostProfile': works,
  'spec.securityContext.appArmorProfile.type': works,
  'spec.securityContext.appArmorProfile.localhostProfile': works,
  'spec.securityContext.windowsOptions': onlyLinux,
} satisfies FieldSupportTable;

const containers = {
  'spec.containers[].name': works,
  'spec.containers[].image': works,
  'spec.containers[].imagePullPolicy': works,
  'spec.containers[].command[]': works,
  'spec.containers[].args[]': works,
  'spec.containers[].workingDir': works,
  'spec.containers[].stdin': works,
  'spec.containers[].stdinOnce': works,
  'spec.containers[].tty': works,
  'spec.containers[].ports[].name': works,
  'spec.containers[].ports[].containerPort': works,
  'spec.containers[].ports[].hostPort': works,
  'spec.containers[].ports[].hostIP': works,
  'spec.containers[].ports[].protocol': works,
  'spec.containers[].env[].name': works,
  'spec.containers[].env[].value': works,
  'spec.containers[].env[].valueFrom.fieldRef': works,
  'spec.containers[].env[].valueFrom.resourceFieldRef': works,
  'spec.containers[].env[].valueFrom.configMapKeyRef': works,
  'spec.containers[].env[].valueFrom.secretKeyRef': works,
  'spec.containers[].env[].valueFrom.fileKeyRef': refused('variables are not read from files; the variable would be missing'),
  'spec.containers[].envFrom[].prefix': works,
  'spec.containers[].envFrom[].configMapRef': works,
  'spec.containers[].envFrom[].secretRef': works,
  'spec.containers[].resources.requests': works,
  'spec.containers[].resources.limits': works,
  'spec.containers[].resources.claims[]': refused('devices cannot be claimed; no node offers any'),
  'spec.containers[].resizePolicy[]': works,
  'spec.containers[].restartPolicy': works,
  'spec.containers[].restartPolicyRules[]': works,
  'spec.containers[].volumeMounts[].name': works,
  'spec.containers[].volumeMounts[].mountPath': works,
  'spec.containers[].volumeMounts[].readOnly': works,
  'spec.containers[].volumeMounts[].recursiveReadOnly': works,
  'spec.containers[].volumeMounts[].subPath': works,
  'spec.containers[].volumeMounts[].subPathExpr': works,
  'spec.containers[].volumeMounts[].mountPropagation': works,
  'spec.containers[].volumeDevices[]': refused('volumes are mounted as folders only'),
  'spec.containers[].livenessProbe': works,
  'spec.containers[].readinessProbe': works,
  'spec.containers[].startupProbe': works,
  'spec.containers[].lifecycle.postStart.exec': works,
  'spec.containers[].lifecycle.postStart.httpGet': works,
  'spec.containers[].lifecycle.postStart.sleep': works,
  'spec.containers[].lifecycle.postStart.tcpSocket': refused(noTcpHook),
  'spec.containers[].lifecycle.preStop.exec': works,
  'spec.containers[].lifecycle.preStop.httpGet': works,
  'spec.containers[].lifecycle.preStop.sleep': works,
  'spec.containers[].lifecycle.preStop.tcpSocket': refused(noTcpHook),
  'spec.containers[].lifecycle.stopSignal': works,
  'spec.containers[].terminationMessagePath': works,
  'spec.containers[].terminationMessagePolicy': works,
} satisfies FieldSupportTable;

const containerSecurity = {
  'spec.containers[].securityContext.privileged': works,
  'spec.containers[].securityContext.runAsUser': works,
  'spec.containers[].securityContext.runAsGroup': works,
  'spec.containers[].securityContext.readOnlyRootFilesystem': works,
  'spec.containers[].securityContext.runAsNonRoot': works,
  'spec.containers[].securityContext.capabilities': works,
  'spec.containers[].securityContext.allowPrivilegeEscalation': works,
  'spec.containers[].securityContext.procMount': works,
  'spec.containers[].securityContext.seccompProfile.type': works,
  'spec.containers[].securityContext.seccompProfile.localhostProfile': works,
  'spec.containers[].securityContext.appArmorProfile.type': works,
  'spec.containers[].securityContext.appArmorProfile.localhostProfile': works,
  'spec.containers[].securityContext.seLinuxOptions': works,
  'spec.containers[].securityContext.windowsOptions': onlyLinux,
} satisfies FieldSupportTable;

const volumes = {
  'spec.volumes[].name': works,
  // Huge pages are refused by validate-volumes.ts.
  'spec.volumes[].emptyDir.medium': works,
  'spec.volumes[].emptyDir.sizeLimit': works,
  'spec.volumes[].hostPath.path': works,
  'spec.volumes[].hostPath.type': works,
  'spec.volumes[].configMap': works,
  'spec.volumes[].secret': works,
  'spec.volumes[].downwardAPI': works,
  'spec.volumes[].projected.defaultMode': works,
  'spec.volumes[].projected.sources[].configMap': works,
  'spec.volumes[].projected.sources[].secret': works,
  'spec.volumes[].projected.sources[].downwardAPI': works,
  'spec.volumes[].projected.sources[].serviceAccountToken': works,
  'spec.volumes[].projected.sources[].clusterTrustBundle': refused('trust bundles do not exist; use a ConfigMap'),
  'spec.volumes[].projected.sources[].podCertificate': refused('no signer issues certificates for pods; use a Secret'),
  'spec.volumes[].persistentVolumeClaim': works,
  'spec.volumes[].ephemeral': refused('claims are not made for pods; make one and name it in persistentVolumeClaim'),
  'spec.volumes[].image': refused('an image cannot be mounted as a volume'),
  'spec.volumes[].nfs': mountItYourself,
  'spec.volumes[].iscsi': mountItYourself,
  'spec.volumes[].fc': mountItYourself,
  'spec.volumes[].cephfs': mountItYourself,
  'spec.volumes[].rbd': mountItYourself,
  'spec.volumes[].glusterfs': mountItYourself,
  'spec.volumes[].quobyte': mountItYourself,
  'spec.volumes[].flocker': mountItYourself,
  'spec.volumes[].storageos': mountItYourself,
  'spec.volumes[].portworxVolume': mountItYourself,
  'spec.volumes[].scaleIO': mountItYourself,
  'spec.volumes[].gitRepo': refused('repositories are not cloned for pods; do it in the image or mount it with hostPath'),
  'spec.volumes[].csi': noDriver,
  'spec.volumes[].flexVolume': noDriver,
  'spec.volumes[].awsElasticBlockStore': noDriver,
  'spec.volumes[].azureDisk': noDriver,
  'spec.volumes[].azureFile': noDriver,
  'spec.volumes[].cinder': noDriver,
  'spec.volumes[].gcePersistentDisk': noDriver,
  'spec.volumes[].photonPersistentDisk': noDriver,
  'spec.volumes[].vsphereVolume': noDriver,
} satisfies FieldSupportTable;

/** Another list of containers of which the same is true. */
function sameFor(path: string): FieldSupportTable {
  const all = Object.entries({ ...containers, ...containerSecurity }).filter(([field]) => field.startsWith('spec.containers[].'));
  return Object.fromEntries(all.map(([field, support]) => [field.replace('spec.containers[]', path), support]));
}

/** Nothing waits for a container that joins a running pod, probes it or keeps room for it. */
function ephemeral(): FieldSupportTable {
  const at = 'spec.ephemeralContainers[]';
  const notHere = [
    ...['ports[]', 'resources', 'resizePolicy[]', 'restartPolicy', 'restartPolicyRules[]', 'lifecycle'],
    ...['livenessProbe', 'readinessProbe', 'startupProbe', 'volumeMounts[].subPath', 'volumeMounts[].subPathExpr'],
  ].map((field) => `${at}.${field}`);
  const never = refused('cannot be set for an Ephemeral Container');
  const all = Object.entries(sameFor(at)).map(([field, support]): [string, FieldSupport] => [
    field,
    notHere.some((path) => field === path || field.startsWith(`${path}.`)) ? never : support,
  ]);
  return { ...Object.fromEntries(all), [`${at}.targetContainerName`]: works };
}

/**
 * What Berth does with each field of a Pod that a client may send. Warnings are worked out on the object as the client
 * sent it, before defaults; a value that says what happens anyway (`unless`) is passed over. Refused is what would
 * change safety or data if it were ignored; the rest only warns. Status is kept as the agent writes it.
 * test/conformance/proto-fields.test.ts holds the table to the proto: every field, and none that is not there.
 */
export const podFields: FieldSupportTable = {
  ...metadataFields,
  ...scheduling,
  ...lifecycle,
  ...identity,
  ...network,
  ...isolation,
  ...containers,
  ...containerSecurity,
  ...sameFor('spec.initContainers[]'),
  ...ephemeral(),
  ...volumes,
  status: works,
};
