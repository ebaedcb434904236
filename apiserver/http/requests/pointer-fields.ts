// The fields of plain values (numbers, texts, truths) that are pointers in Go's types of Kubernetes' API: of these a
// zero is a value that was given. All others hold a zero where nothing was given, and Go's clients write that in
// protobuf, and in JSON where the field is not left out when it is empty. By package: "MESSAGE field field; MESSAGE".

const tables: Readonly<Record<string, string>> = {
  'admissionregistration.v1': `MatchResources matchPolicy; MutatingWebhook failurePolicy sideEffects timeoutSeconds matchPolicy
    reinvocationPolicy; ParamRef parameterNotFoundAction; Rule scope; ServiceReference path port;
    ValidatingAdmissionPolicySpec failurePolicy; ValidatingWebhook failurePolicy sideEffects timeoutSeconds
    matchPolicy; Validation reason; WebhookClientConfig url`,
  'apiextensions.v1': `CustomResourceDefinitionVersion deprecationWarning; CustomResourceSubresourceScale labelSelectorPath;
    ServiceReference path port; WebhookClientConfig url`,
  'apiregistration.v1': `ServiceReference port`,
  'apps.v1': `DaemonSetSpec revisionHistoryLimit; DaemonSetStatus collisionCount; DeploymentSpec replicas revisionHistoryLimit
    progressDeadlineSeconds; DeploymentStatus collisionCount terminatingReplicas; ReplicaSetSpec replicas;
    ReplicaSetStatus terminatingReplicas; RollingUpdateStatefulSetStrategy partition; StatefulSetSpec replicas
    revisionHistoryLimit; StatefulSetStatus collisionCount`,
  'authentication.v1': `TokenRequestSpec expirationSeconds`,
  'autoscaling.v1': `HorizontalPodAutoscalerSpec minReplicas targetCPUUtilizationPercentage; HorizontalPodAutoscalerStatus
    observedGeneration currentCPUUtilizationPercentage`,
  'autoscaling.v2': `HPAScalingRules stabilizationWindowSeconds selectPolicy; HorizontalPodAutoscalerSpec minReplicas;
    HorizontalPodAutoscalerStatus observedGeneration; MetricTarget averageUtilization; MetricValueStatus
    averageUtilization`,
  'batch.v1': `CronJobSpec startingDeadlineSeconds suspend successfulJobsHistoryLimit failedJobsHistoryLimit timeZone; JobSpec
    parallelism completions activeDeadlineSeconds backoffLimit manualSelector ttlSecondsAfterFinished
    backoffLimitPerIndex maxFailedIndexes completionMode suspend podReplacementPolicy managedBy; JobStatus
    terminating failedIndexes ready; PodFailurePolicyOnExitCodesRequirement containerName; SuccessPolicyRule
    succeededIndexes succeededCount`,
  'certificates.v1': `CertificateSigningRequestSpec expirationSeconds`,
  'coordination.v1': `LeaseSpec holderIdentity leaseDurationSeconds leaseTransitions strategy preferredHolder`,
  'core.v1': `AppArmorProfile localhostProfile; AzureDiskVolumeSource cachingMode fsType readOnly kind;
    AzureFilePersistentVolumeSource secretNamespace; CSIVolumeSource readOnly fsType; ClientIPConfig timeoutSeconds;
    ClusterTrustBundleProjection name signerName optional; ConfigMap immutable; ConfigMapEnvSource optional;
    ConfigMapKeySelector optional; ConfigMapProjection optional; ConfigMapVolumeSource defaultMode optional;
    Container restartPolicy; ContainerStatus started stopSignal; DownwardAPIVolumeFile mode; DownwardAPIVolumeSource
    defaultMode; EndpointAddress nodeName; EndpointPort appProtocol; EphemeralContainerCommon restartPolicy;
    FCVolumeSource lun; FileKeySelector optional; GRPCAction service; GlusterfsPersistentVolumeSource
    endpointsNamespace; HostPathVolumeSource type; ISCSIPersistentVolumeSource initiatorName; ISCSIVolumeSource
    initiatorName; KeyToPath mode; Lifecycle stopSignal; LoadBalancerIngress ipMode; LocalVolumeSource fsType;
    NodeFeatures supplementalGroupsPolicy; NodeRuntimeHandlerFeatures recursiveReadOnlyMounts userNamespaces;
    NodeSwapStatus capacity; PersistentVolumeClaimSpec storageClassName volumeMode volumeAttributesClassName;
    PersistentVolumeClaimStatus currentVolumeAttributesClassName; PersistentVolumeSpec volumeMode
    volumeAttributesClassName; PodCertificateProjection maxExpirationSeconds; PodDNSConfigOption value;
    PodLogOptions sinceSeconds tailLines limitBytes stream; PodResourceClaim resourceClaimName
    resourceClaimTemplateName; PodResourceClaimStatus resourceClaimName; PodSchedulingGroup podGroupName;
    PodSecurityContext runAsUser runAsGroup runAsNonRoot fsGroup fsGroupChangePolicy supplementalGroupsPolicy
    seLinuxChangePolicy; PodSpec terminationGracePeriodSeconds activeDeadlineSeconds automountServiceAccountToken
    shareProcessNamespace priority runtimeClassName enableServiceLinks preemptionPolicy setHostnameAsFQDN hostUsers
    hostnameOverride; PortStatus error; Probe terminationGracePeriodSeconds; ProjectedVolumeSource defaultMode;
    ReplicationControllerSpec replicas; SeccompProfile localhostProfile; Secret immutable; SecretEnvSource optional;
    SecretKeySelector optional; SecretProjection optional; SecretVolumeSource defaultMode optional; SecurityContext
    privileged runAsUser runAsGroup runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation procMount;
    ServiceAccount automountServiceAccountToken; ServiceAccountTokenProjection expirationSeconds; ServicePort
    appProtocol; ServiceSpec ipFamilyPolicy allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy
    trafficDistribution; Toleration tolerationSeconds; TopologySpreadConstraint minDomains nodeAffinityPolicy
    nodeTaintsPolicy; TypedLocalObjectReference apiGroup; TypedObjectReference apiGroup namespace; VolumeMount
    mountPropagation recursiveReadOnly; VolumeMountStatus recursiveReadOnly; WindowsSecurityContextOptions
    gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess`,
  'discovery.v1': `Endpoint hostname nodeName zone; EndpointConditions ready serving terminating; EndpointPort name protocol port
    appProtocol`,
  'discovery.v1beta1': `Endpoint hostname nodeName`,
  'flowcontrol.v1': `ExemptPriorityLevelConfiguration nominalConcurrencyShares lendablePercent; LimitedPriorityLevelConfiguration
    nominalConcurrencyShares lendablePercent borrowingLimitPercent`,
  'meta.v1': `DeleteOptions gracePeriodSeconds orphanDependents propagationPolicy
    ignoreStoreReadErrorWithClusterBreakingPotential; ListMeta remainingItemCount; ListOptions timeoutSeconds;
    ObjectMeta deletionGracePeriodSeconds; OwnerReference controller blockOwnerDeletion; Preconditions uid
    resourceVersion`,
  'networking.v1': `HTTPIngressPath pathType; IngressClassParametersReference apiGroup scope namespace; IngressPortStatus error;
    IngressSpec ingressClassName; NetworkPolicyPort protocol endPort`,
  'policy.v1': `PodDisruptionBudgetSpec unhealthyPodEvictionPolicy`,
  'scheduling.v1': `PriorityClass preemptionPolicy`,
  'storage.v1': `CSIDriverSpec attachRequired podInfoOnMount storageCapacity fsGroupPolicy requiresRepublish seLinuxMount
    nodeAllocatableUpdatePeriodSeconds serviceAccountTokenInSecrets preventPodSchedulingIfMissing; StorageClass
    reclaimPolicy allowVolumeExpansion volumeBindingMode; TokenRequest expirationSeconds; VolumeAttachmentSource
    persistentVolumeName; VolumeError errorCode; VolumeNodeResources count`,
};

const read = new Map<string, ReadonlySet<string>>();

/** The names of those fields of a message, e.g. of "berth.core.v1.PodSpec". */
export function pointerFieldsOf(message: string): ReadonlySet<string> {
  if (read.size === 0)
    for (const [group, table] of Object.entries(tables))
      for (const entry of table.split(';')) {
        const [name = '', ...fields] = entry.trim().split(/\s+/);
        read.set(`berth.${group}.${name}`, new Set(fields));
      }
  return read.get(message) ?? none;
}

const none: ReadonlySet<string> = new Set();

/** All messages of the table, for its test. */
export const pointerMessages = (): string[] => {
  pointerFieldsOf('');
  return [...read.keys()];
};
