// The fields that Kubernetes' schemas call required, which neither the published field table nor proto3 says. By
// package: "MESSAGE field field; MESSAGE field".

const tables: Readonly<Record<string, string>> = {
  'meta.v1': `Condition type status lastTransitionTime reason message; FieldSelectorRequirement key operator;
    LabelSelectorRequirement key operator; OwnerReference apiVersion kind name uid`,
  'core.v1': `AWSElasticBlockStoreVolumeSource volumeID; AppArmorProfile type; AttachedVolume name devicePath;
    AzureDiskVolumeSource diskName diskURI; AzureFilePersistentVolumeSource secretName shareName;
    AzureFileVolumeSource secretName shareName; Binding target; CSIPersistentVolumeSource driver volumeHandle;
    CSIVolumeSource driver; CephFSPersistentVolumeSource monitors; CephFSVolumeSource monitors;
    CinderPersistentVolumeSource volumeID; CinderVolumeSource volumeID; ClusterTrustBundleProjection path;
    ConfigMapKeySelector key; Container name; ContainerPort containerPort;
    ContainerResizePolicy resourceName restartPolicy; ContainerRestartRule action;
    ContainerRestartRuleOnExitCodes operator; ContainerStateTerminated exitCode;
    ContainerStatus name ready restartCount image imageID; DaemonEndpoint Port; DownwardAPIVolumeFile path;
    EndpointAddress ip; EndpointPort port; EnvVar name; EphemeralContainer name; EphemeralContainerCommon name;
    Event metadata involvedObject; FileKeySelector volumeName path key; FlexPersistentVolumeSource driver;
    FlexVolumeSource driver; GCEPersistentDiskVolumeSource pdName; GRPCAction port; GitRepoVolumeSource repository;
    GlusterfsPersistentVolumeSource endpoints path; GlusterfsVolumeSource endpoints path; HTTPGetAction port;
    HTTPHeader name value; HostAlias ip; HostIP ip; HostPathVolumeSource path;
    ISCSIPersistentVolumeSource targetPortal iqn lun; ISCSIVolumeSource targetPortal iqn lun; KeyToPath key path;
    LimitRangeItem type; LimitRangeSpec limits; LinuxContainerUser uid gid; LocalVolumeSource path;
    ModifyVolumeStatus status; NFSVolumeSource server path; NamespaceCondition type status; NodeAddress type address;
    NodeCondition type status; NodeSelector nodeSelectorTerms; NodeSelectorRequirement key operator;
    NodeSystemInfo machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion
    kubeProxyVersion operatingSystem architecture; ObjectFieldSelector fieldPath;
    PersistentVolumeClaimCondition type status; PersistentVolumeClaimTemplate spec;
    PersistentVolumeClaimVolumeSource claimName; PhotonPersistentDiskVolumeSource pdID; PodAffinityTerm topologyKey;
    PodCertificateProjection signerName keyType; PodCondition type status; PodIP ip; PodOS name;
    PodReadinessGate conditionType; PodResourceClaim name; PodResourceClaimStatus name; PodSchedulingGate name;
    PodSpec containers; PortStatus port protocol; PortworxVolumeSource volumeID;
    PreferredSchedulingTerm weight preference; QuobyteVolumeSource registry volume;
    RBDPersistentVolumeSource monitors image; RBDVolumeSource monitors image;
    ReplicationControllerCondition type status; ReplicationControllerStatus replicas; ResourceClaim name;
    ResourceFieldSelector resource; ResourceHealth resourceID; ResourceStatus name;
    ScaleIOPersistentVolumeSource gateway system secretRef; ScaleIOVolumeSource gateway system secretRef;
    ScopedResourceSelectorRequirement scopeName operator; SeccompProfile type; SecretKeySelector key;
    ServiceAccountTokenProjection path; ServicePort port; SleepAction seconds; Sysctl name value; TCPSocketAction port;
    Taint key effect; TopologySelectorLabelRequirement key values;
    TopologySpreadConstraint maxSkew topologyKey whenUnsatisfiable; TypedLocalObjectReference kind name;
    TypedObjectReference kind name; Volume name; VolumeDevice name devicePath; VolumeMount name mountPath;
    VolumeMountStatus name mountPath; VsphereVirtualDiskVolumeSource volumePath;
    WeightedPodAffinityTerm weight podAffinityTerm`,
  'apps.v1': `ControllerRevision revision; DaemonSetCondition type status; DaemonSetSpec selector template;
    DaemonSetStatus currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady;
    DeploymentCondition type status; DeploymentSpec selector template; ReplicaSetCondition type status;
    ReplicaSetSpec selector; ReplicaSetStatus replicas; StatefulSetCondition type status;
    StatefulSetSpec selector template; StatefulSetStatus replicas`,
  'batch.v1': `CronJobSpec schedule jobTemplate; JobCondition type status; JobSpec template; PodFailurePolicy rules;
    PodFailurePolicyOnExitCodesRequirement operator values; PodFailurePolicyOnPodConditionsPattern type;
    PodFailurePolicyRule action; SuccessPolicy rules`,
  'autoscaling.v1': `HorizontalPodAutoscalerSpec scaleTargetRef maxReplicas;
    HorizontalPodAutoscalerStatus currentReplicas desiredReplicas; ScaleStatus replicas`,
  'autoscaling.v2': `ContainerResourceMetricSource name target container;
    ContainerResourceMetricStatus name current container; CrossVersionObjectReference kind name;
    ExternalMetricSource metric target; ExternalMetricStatus metric current; HPAScalingPolicy type value periodSeconds;
    HorizontalPodAutoscalerCondition type status; HorizontalPodAutoscalerSpec scaleTargetRef maxReplicas;
    HorizontalPodAutoscalerStatus desiredReplicas; MetricIdentifier name; MetricSpec type; MetricStatus type;
    MetricTarget type; ObjectMetricSource describedObject target metric;
    ObjectMetricStatus metric current describedObject; PodsMetricSource metric target; PodsMetricStatus metric current;
    ResourceMetricSource name target; ResourceMetricStatus name current`,
  'policy.v1': 'PodDisruptionBudgetStatus disruptionsAllowed currentHealthy desiredHealthy expectedPods',
  'rbac.v1': 'ClusterRoleBinding roleRef; PolicyRule verbs; RoleBinding roleRef; RoleRef kind name; Subject kind name',
  'scheduling.v1': 'PriorityClass value',
  'discovery.v1': 'Endpoint addresses; EndpointSlice addressType endpoints; ForNode name; ForZone name',
  'events.v1': 'Event eventTime',
  'networking.v1': `HTTPIngressPath pathType backend; HTTPIngressRuleValue paths; IPBlock cidr;
    IngressClassParametersReference kind name; IngressPortStatus port protocol; IngressServiceBackend name; IPAddressSpec parentRef;
    ParentReference resource name`,
  'storage.v1': `CSIDriver spec; CSINode spec; CSINodeDriver name nodeID; CSINodeSpec drivers;
    CSIStorageCapacity storageClassName; StorageClass provisioner; TokenRequest audience; VolumeAttachment spec;
    VolumeAttachmentSpec attacher source nodeName; VolumeAttachmentStatus attached`,
  'node.v1': 'RuntimeClass handler',
  'authentication.v1': 'TokenRequestSpec audiences; TokenRequest spec; TokenReview spec',
  'authorization.v1': `LocalSubjectAccessReview spec; NonResourceRule verbs; ResourceRule verbs;
    SelfSubjectAccessReview spec; SelfSubjectRulesReview spec; SubjectAccessReview spec;
    SubjectAccessReviewStatus allowed; SubjectRulesReviewStatus resourceRules nonResourceRules incomplete`,
  'certificates.v1': `CertificateSigningRequest spec; CertificateSigningRequestCondition type status;
    CertificateSigningRequestSpec request signerName`,
  'admissionregistration.v1': `AuditAnnotation key valueExpression; ExpressionWarning fieldRef warning;
    MatchCondition name expression; MutatingWebhook name clientConfig sideEffects admissionReviewVersions;
    ServiceReference namespace name; ValidatingWebhook name clientConfig sideEffects admissionReviewVersions;
    Validation expression; Variable name expression`,
  'apiextensions.v1': `CustomResourceColumnDefinition name type jsonPath; CustomResourceConversion strategy;
    CustomResourceDefinition spec; CustomResourceDefinitionCondition type status;
    CustomResourceDefinitionNames plural kind; CustomResourceDefinitionSpec group names scope versions;
    CustomResourceDefinitionVersion name served storage; CustomResourceSubresourceScale specReplicasPath
    statusReplicasPath; SelectableField jsonPath; ServiceReference namespace name;
    WebhookConversion conversionReviewVersions`,
  'apiregistration.v1': 'APIServiceCondition type status; APIServiceSpec groupPriorityMinimum versionPriority',
  'flowcontrol.v1': `FlowDistinguisherMethod type; FlowSchemaSpec priorityLevelConfiguration; GroupSubject name;
    LimitResponse type; NonResourcePolicyRule verbs nonResourceURLs; PolicyRulesWithSubjects subjects;
    PriorityLevelConfigurationReference name; PriorityLevelConfigurationSpec type;
    ResourcePolicyRule verbs apiGroups resources; ServiceAccountSubject namespace name; Subject kind; UserSubject name`,
};

const parsed = new Map<string, ReadonlyMap<string, readonly string[]>>();

/** The required fields of a message, "berth.core.v1.Container". */
export function requiredFields(message: string): readonly string[] {
  const at = message.lastIndexOf('.');
  const pkg = message.slice('berth.'.length, at);
  let table = parsed.get(pkg);
  if (!table) {
    const rows = (tables[pkg] ?? '').split(';').map((row) => row.trim().split(/\s+/));
    table = new Map(rows.map(([name = '', ...fields]) => [name, fields]));
    parsed.set(pkg, table);
  }
  return table.get(message.slice(at + 1)) ?? [];
}

/** All messages of the table, for its test. */
export const requiredMessages = (): string[] =>
  Object.entries(tables).flatMap(([pkg, table]) => table.split(';').map((row) => `berth.${pkg}.${row.trim().split(/\s+/)[0]}`));
