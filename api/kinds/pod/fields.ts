import { type FieldSupportTable, refused, warned, works } from '../field-support.ts';
import { metadataFields } from '../metadata-fields.ts';

const profileWhy = "containers run under the engine's own profile; another one cannot be set yet";
const onlyLinux = refused('every node runs Linux');
const noDriver = refused('no node has a driver for this kind of volume');
const mountItYourself = refused('Berth has no driver for this storage; mount it on the nodes and use hostPath');
const otherPods = 'the scheduler does not look at other pods yet and could place this one where it must not be';
const otherPodsWeigh = 'the scheduler does not look at other pods yet; the preference has no weight';
const noServiceAccounts = 'service accounts do not exist yet; the pod gets no credentials';
const engineNameServers = 'every pod uses the name servers that the engine gives it';
const noMessage = 'the message that a container leaves when it ends is not read yet';

const scheduling = {
  'spec.nodeName': works,
  'spec.nodeSelector': works,
  'spec.schedulerName': works,
  'spec.affinity.nodeAffinity': works,
  'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[]': refused(otherPods),
  'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[]': warned(otherPodsWeigh),
  'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[]': refused(otherPods),
  'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[]': warned(otherPodsWeigh),
  'spec.tolerations[].key': works,
  'spec.tolerations[].operator': works,
  'spec.tolerations[].value': works,
  'spec.tolerations[].effect': works,
  'spec.tolerations[].tolerationSeconds': warned('a taint does not evict running pods yet, so the pod stays for good', 300),
  'spec.topologySpreadConstraints[]': warned('the scheduler does not spread pods over topology domains yet'),
  'spec.priorityClassName': warned('priority classes do not exist yet; say spec.priority'),
  'spec.priority': warned('it decides who is scheduled first, but pushes nobody out', 0),
  'spec.preemptionPolicy': warned('no pod is ever preempted yet', '', 'PreemptLowerPriority', 'Never'),
  'spec.schedulingGates[]': refused('the scheduler would not wait for the gates to be lifted'),
  'spec.schedulingGroup': refused('pods are scheduled one by one; the group would not start together'),
  'spec.resourceClaims[]': refused('devices cannot be claimed; no node offers any'),
  'spec.overhead': works,
  'spec.resources': warned("only the containers' own requests and limits count"),
} satisfies FieldSupportTable;

const lifecycle = {
  'spec.restartPolicy': works,
  'spec.terminationGracePeriodSeconds': works,
  'spec.activeDeadlineSeconds': warned('the pod is not stopped when its time is over'),
  'spec.readinessGates[]': warned('the pod counts as ready when its containers are'),
  'spec.runtimeClassName': refused("containers run under the engine's default runtime; the isolation asked for would be missing"),
  'spec.os.name': refused('every node runs Linux', '', 'linux'),
} satisfies FieldSupportTable;

const identity = {
  'spec.serviceAccountName': warned(noServiceAccounts, '', 'default'),
  'spec.serviceAccount': warned(noServiceAccounts, '', 'default'),
  'spec.automountServiceAccountToken': warned('service accounts do not exist yet; no token is mounted', false),
  'spec.imagePullSecrets[]': warned('images are pulled with the credentials of the engine on the node'),
} satisfies FieldSupportTable;

const network = {
  'spec.hostNetwork': works,
  'spec.hostname': works,
  'spec.subdomain': warned('pods have no names in DNS yet'),
  'spec.setHostnameAsFQDN': warned('pods have no names in DNS yet; the host name stays the short one'),
  'spec.hostnameOverride': warned('the host name is spec.hostname, or else the name of the pod'),
  'spec.hostAliases[]': warned('nothing is added to /etc/hosts'),
  'spec.dnsPolicy': warned(engineNameServers, '', 'ClusterFirst', 'Default'),
  'spec.dnsConfig': warned(engineNameServers),
  // There are no services that variables could name: both values mean the same.
  'spec.enableServiceLinks': works,
} satisfies FieldSupportTable;

const isolation = {
  'spec.hostPID': warned('the containers keep process namespaces of their own'),
  'spec.hostIPC': warned('the pod keeps an IPC namespace of its own'),
  'spec.shareProcessNamespace': warned('each container keeps a process namespace of its own'),
  'spec.hostUsers': refused('the engine decides about user namespaces for all pods of a node', true),
  'spec.securityContext.runAsUser': works,
  'spec.securityContext.runAsGroup': works,
  'spec.securityContext.runAsNonRoot': refused('an image that runs as root would not be held back'),
  'spec.securityContext.supplementalGroups[]': refused('containers get no groups beside their own'),
  'spec.securityContext.supplementalGroupsPolicy': refused('the groups of an image stay as they are', '', 'Merge'),
  'spec.securityContext.fsGroup': refused('volumes keep the owner they have'),
  'spec.securityContext.fsGroupChangePolicy': warned('volumes keep the owner they have'),
  'spec.securityContext.sysctls[]': refused('the kernel parameters would keep their values'),
  'spec.securityContext.seLinuxOptions': refused(profileWhy),
  'spec.securityContext.seLinuxChangePolicy': warned('volumes are not relabelled'),
  'spec.securityContext.seccompProfile.type': refused(profileWhy, '', 'RuntimeDefault'),
  'spec.securityContext.seccompProfile.localhostProfile': refused(profileWhy),
  'spec.securityContext.appArmorProfile.type': refused(profileWhy, '', 'RuntimeDefault'),
  'spec.securityContext.appArmorProfile.localhostProfile': refused(profileWhy),
  'spec.securityContext.windowsOptions': onlyLinux,
} satisfies FieldSupportTable;

const containers = {
  'spec.initContainers[]': refused('they are not run yet, and the pod must not start without them'),
  'spec.ephemeralContainers[]': refused('a container cannot join a running pod; use berth exec'),
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
  'spec.containers[].resizePolicy[]': warned('the resources of a running container do not change'),
  'spec.containers[].restartPolicy': refused("the pod's restartPolicy holds for all its containers"),
  'spec.containers[].restartPolicyRules[]': refused("the pod's restartPolicy holds for all its containers"),
  'spec.containers[].volumeMounts[].name': works,
  'spec.containers[].volumeMounts[].mountPath': works,
  'spec.containers[].volumeMounts[].readOnly': works,
  'spec.containers[].volumeMounts[].recursiveReadOnly': refused(
    'mounts below a read-only one could still be written',
    '',
    'Disabled',
  ),
  'spec.containers[].volumeMounts[].subPath': refused('the whole volume would be mounted instead of a part of it'),
  'spec.containers[].volumeMounts[].subPathExpr': refused('the whole volume would be mounted instead of a part of it'),
  'spec.containers[].volumeMounts[].mountPropagation': works,
  'spec.containers[].volumeDevices[]': refused('volumes are mounted as folders only'),
  'spec.containers[].livenessProbe': warned('probes are not run yet; a container that hangs is not restarted'),
  'spec.containers[].readinessProbe': warned('probes are not run yet; the container counts as ready when it runs'),
  'spec.containers[].startupProbe': warned('probes are not run yet; the container counts as started when it runs'),
  'spec.containers[].lifecycle': warned('hooks are not run yet, and the signal to stop is the one of the image'),
  'spec.containers[].terminationMessagePath': warned(noMessage, '', '/dev/termination-log'),
  'spec.containers[].terminationMessagePolicy': warned(noMessage, '', 'File'),
} satisfies FieldSupportTable;

const containerSecurity = {
  'spec.containers[].securityContext.privileged': works,
  'spec.containers[].securityContext.runAsUser': works,
  'spec.containers[].securityContext.runAsGroup': works,
  'spec.containers[].securityContext.readOnlyRootFilesystem': works,
  'spec.containers[].securityContext.runAsNonRoot': refused('an image that runs as root would not be held back'),
  'spec.containers[].securityContext.capabilities': refused("containers keep the engine's own set of capabilities"),
  'spec.containers[].securityContext.allowPrivilegeEscalation': refused('set-user-ID programs could still gain privileges', true),
  'spec.containers[].securityContext.procMount': refused('/proc is masked as the engine masks it', '', 'Default'),
  'spec.containers[].securityContext.seccompProfile.type': refused(profileWhy, '', 'RuntimeDefault'),
  'spec.containers[].securityContext.seccompProfile.localhostProfile': refused(profileWhy),
  'spec.containers[].securityContext.appArmorProfile.type': refused(profileWhy, '', 'RuntimeDefault'),
  'spec.containers[].securityContext.appArmorProfile.localhostProfile': refused(profileWhy),
  'spec.containers[].securityContext.seLinuxOptions': refused(profileWhy),
  'spec.containers[].securityContext.windowsOptions': onlyLinux,
} satisfies FieldSupportTable;

const volumes = {
  'spec.volumes[].name': works,
  'spec.volumes[].emptyDir.medium': refused('huge pages cannot be mounted; the folder would be on disk', '', 'Memory'),
  'spec.volumes[].emptyDir.sizeLimit': warned('only a folder with medium Memory is limited; one on disk may grow'),
  'spec.volumes[].hostPath.path': works,
  'spec.volumes[].hostPath.type': works,
  'spec.volumes[].configMap': works,
  'spec.volumes[].secret': works,
  'spec.volumes[].downwardAPI': refused('a volume made of fields of the pod does not exist yet; use env with valueFrom'),
  'spec.volumes[].projected': refused('volumes cannot be put together from several sources yet'),
  'spec.volumes[].persistentVolumeClaim': refused('persistent volume claims do not exist yet'),
  'spec.volumes[].ephemeral': refused('persistent volume claims do not exist yet'),
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

/**
 * What Berth does with each field of a Pod that a client may send. Warnings are worked out on the object as the client sent it,
 * before defaults; a value that says what happens anyway (`unless`) is passed over. Refused is what would change safety or data if
 * it were ignored; the rest only warns. Status is kept as the agent writes it. test/conformance/proto-fields.test.ts holds the table
 * to the proto: every field, and none that is not there.
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
  ...volumes,
  status: works,
};
