package cli

import (
	"net/url"
	"path/filepath"
	"slices"

	"github.com/ringd/ringd/schema"
)

// The part of SARIF 2.1.0 that findings need.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// SARIF converts findings to a SARIF 2.1.0 log of one run.
func SARIF(ds schema.Diagnostics, version string) any {
	run := sarifRun{Results: []sarifResult{}}
	codes := []string{}
	for _, d := range ds {
		codes = append(codes, d.Code)
		r := sarifResult{RuleID: d.Code, Level: "error", Message: sarifText{d.Msg}}
		if d.Severity == schema.Warning {
			r.Level = "warning"
		}
		if d.Hint != "" {
			r.Message.Text += "\nhint: " + d.Hint
		}
		if d.Pos.File != "" {
			r.Locations = []sarifLocation{sarifPlace(d.Pos)}
		}
		for _, pos := range d.Related {
			r.Related = append(r.Related, sarifPlace(pos))
		}
		run.Results = append(run.Results, r)
	}
	slices.Sort(codes)
	run.Tool.Driver = sarifDriver{Name: "ringd", Version: version, Rules: []sarifRule{}}
	for _, c := range slices.Compact(codes) {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{c})
	}
	return sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	}
}

func sarifPlace(pos schema.Pos) sarifLocation {
	l := sarifLocation{sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: filepath.ToSlash(pos.File)}).String()}}}
	if pos.Line > 0 {
		l.Physical.Region = &sarifRegion{pos.Line, pos.Column}
	}
	return l
}
